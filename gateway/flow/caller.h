/*
 * caller - which program opened a connection: its process, path and command
 * line.
 *
 * Asked of the lookout when a connection is accepted, before anything is
 * judged: the state ACCEPTED lasts until the answer is there, at most
 * LIMIT_SIGHTING_MS.  It is evidence for the audit and a fact for rules with
 * "exe"; who cannot be found is unknown, and that is never a match for a rule
 * that opens something.
 *
 * At most LIMIT_SIGHTINGS_S connections a second are asked about, so that a
 * flood of them costs no more than that; while a rule needs to know, all are.
 */
#ifndef GATEWAY_FLOW_CALLER_H
#define GATEWAY_FLOW_CALLER_H

#include "schema/attr.h"

struct caller;
struct flow;
struct loop;

/* Takes fd, the channel to the lookout, also on failure. */
struct caller *caller_new(struct loop *loop, int fd) MUST_CHECK;
void caller_free(struct caller *caller);

/* Passes the sandbox's diag socket on, which stays the caller's. */
int caller_place(struct caller *caller, int diag) MUST_CHECK;

/* Leaves ACCEPTED for JUDGING, now or when it is known who asks. */
void caller_ask(struct flow *flow);

/*
 * Where rules look at programs: which one a refusal is about, for people; ""
 * where they do not.  Borrows from flow.
 */
const char *caller_words(const struct flow *flow);

/* The state ACCEPTED ends: an answer comes too late. */
void caller_forget(struct flow *flow);

#endif
