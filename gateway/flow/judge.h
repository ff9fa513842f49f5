/*
 * judge - fill in the facts of a stage, put them to the run's policy stack.
 *
 * The facts are always about one host: the name that the address stands for,
 * or the address itself where it is a literal.  A TLS server name or a Host
 * field that means another host is refused before any rule is asked.
 */
#ifndef GATEWAY_FLOW_JUDGE_H
#define GATEWAY_FLOW_JUDGE_H

#include "gateway/flow/flow.h"
#include "gateway/proto/request.h"
#include "policy/facts.h"

/* State FLOW_JUDGING: at connect, and again once the protocol is known. */
void judge_enter(struct flow *flow);

/*
 * The policy changed: refuses or closes a flow that the new one does not let
 * go on in the way it goes now.  One that may, keeps the verdict it has.
 */
void judge_again(struct flow *flow);

/*
 * What is known now, for settings that depend on it: which address may be
 * dialled, which authority is trusted.
 */
struct facts judge_facts(const struct flow *flow);

/* Whether requests are read in it, rather than bytes passed on. */
bool judge_reads_http(const struct flow *flow);

/*
 * Whether a client that says nothing may be connected all the same, since
 * its server speaks first.
 */
bool judge_allows_silence(const struct flow *flow);

/*
 * One request, the last stage: fills *ret.  Returns REASON_HOST_MISMATCH
 * when its authority is not the flow's host, else the verdict's reason.
 */
enum reason judge_request(const struct flow *flow,
    const struct request *request, const struct urlpath *path,
    struct verdict *ret) MUST_CHECK;

/* The same of a request with one of the messages in its body. */
struct judge_question {
	const struct request *request;
	const struct urlpath *path;
	enum fact_message message;
	struct cursor method, tool;
};
enum reason judge_message(const struct flow *flow,
    const struct judge_question *question, struct verdict *ret) MUST_CHECK;

/*
 * Whether this request may go to where a connection outside leads: another
 * rule may allow it than the one that opened the connection.
 */
bool judge_may_reach(const struct flow *flow, const struct request *request,
    const struct urlpath *path, const struct address *address);

#endif
