/*
 * handbook - what a sandbox may know of its own run, as JSON: who it is and
 * what its policy allows, in words.
 */
#ifndef GATEWAY_FLOW_HANDBOOK_H
#define GATEWAY_FLOW_HANDBOOK_H

struct flow;
struct json;

/* The run, and the program that opened flow as far as it is known. */
void handbook_whoami(const struct flow *flow, struct json *j);

/*
 * Every layer and its rules; all of the layers must allow a request.  What
 * does not fit is counted.
 */
void handbook_policy(const struct flow *flow, struct json *j);

/* Every limit of the policy, and what is left of it. */
void handbook_limits(const struct flow *flow, struct json *j);

#endif
