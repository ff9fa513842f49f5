/*
 * exchange_state - what an exchange keeps, for its own files and nobody else.
 *
 * They use each other in one direction:
 *
 *   exchange, what legs call
 *     -> exchange_clear, whether it may leave: policy, a person, a credential
 *       -> exchange_leave, its row and a connection, and then its head
 *         -> exchange_relay, bodies both ways
 *           -> exchange_finish, rows, refusals and the end
 */
#ifndef GATEWAY_FLOW_EXCHANGE_STATE_H
#define GATEWAY_FLOW_EXCHANGE_STATE_H

#include "gateway/audit/sink.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/grants.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/supply.h"
#include "gateway/proc/loop.h"
#include "policy/verdict.h"
#include "schema/event.h"
#include "schema/limits.h"
#include "schema/reason.h"

struct budget_claim;
struct flow;
struct request;
struct stack;
struct tools;
struct urlpath;

enum exchange_state {
	EXCHANGE_HOLDING, /* its body is read first: rules look into it */
	EXCHANGE_RECORDING, /* its row, and a connection, are on their way */
	EXCHANGE_CONSENTING, /* a person is asked */
	EXCHANGE_GRANTING, /* its credential is on its way */
	EXCHANGE_RELAYING,
	EXCHANGE_OVER
};

struct exchange {
	enum exchange_state state;
	struct flow *flow;
	struct leg *server, *client;
	struct supply supply;
	const struct request *request;
	const struct urlpath *path;
	struct loop_deferred freeing;

	struct verdict verdict;
	struct stack *judge; /* that gave it; kept while it names a rule */
	struct budget_claim *claim; /* limits that it counts against */
	uint64_t charged[2]; /* bytes of bodies so far, out and in */
	struct loop_deferred cutting;
	struct tools
	    *tools; /* what is in its body, where rules look; or NULL */
	struct request *own_request; /* then request borrows nothing */
	struct loop_deferred judging;
	/* Copies, for when the policy changes and the head is gone. */
	unsigned char *words;
	struct cursor query, upgrade;
	struct consent_ask ask;
	struct grants_loan loan; /* of the rule's credential, if it names one */
	struct passage passage; /* of the bodies, and of what comes back */
	int64_t left_out, left_in; /* bytes of the leg that has left */
	struct sink_wait row;
	enum reason failed; /* while it waited for its row */
	char cause[128]; /* in words, where a library has some; or empty */
	struct cursor unread; /* of an answer, while it is refused for that */
	bool reused; /* the connection was there before the request */
	bool retried; /* and proved dead once already */
	bool request_ended, responded;
	bool injected; /* it has really left with its credential */
	/* The answer is over, but not all of it has gone inside yet. */
	bool client_left;
	bool waits_for_row, connecting;
	bool holds_body; /* in tools, and it has not gone on yet */

	/* For its rows. */
	enum event_l7 l7;
	uint8_t id[EVENT_REQ_ID];
	unsigned char object[LIMIT_EVENT_OBJECT];
	size_t object_length;
	char method[LIMIT_HTTP_METHOD + 1];
	int64_t intent_seq, began_us, status;
	uint64_t sent_before, received_before;
};

static inline struct leg *
exchange_other(const struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? exchange->client : exchange->server;
}

#endif
