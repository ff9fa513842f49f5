/*
 * consent - requests that wait for a person.
 *
 * A rule that asks turns a request into a question: its row first, then it is
 * told to whoever watches.  The request is held meanwhile, at most
 * LIMIT_ASK_HOLD_MS; then it is answered with the question's id, and who
 * tries again after a yes is let through.  What a person decided has a row
 * of its own before any request uses it.
 *
 * gateway/run/approvals keeps what was asked and answered; here are the
 * rows, the clock and the requests.
 */
#ifndef GATEWAY_FLOW_CONSENT_H
#define GATEWAY_FLOW_CONSENT_H

#include "gateway/run/approvals.h"
#include "schema/reason.h"

struct consent;
struct event;
struct facts;
struct flow;
struct plane;
struct request;
struct urlpath;
struct verdict;

/* plane is borrowed; its loop, run and sink are there already. */
struct consent *consent_new(struct plane *plane) MUST_CHECK;

/* After the flows: nobody waits any more. */
void consent_free(struct consent *consent);

/* Told of each question once it is a row, and of its end.  Borrowed. */
struct consent_events {
	void (*on_question)(
	    const struct approval_question *question, void *arg);
	void (*on_over)(const struct approval_over *over, void *arg);
};
void consent_watch(
    struct consent *consent, const struct consent_events *events, void *arg);

/* STATUS_NOT_FOUND when nothing of that id is open. */
int consent_answer(
    struct consent *consent, const struct approval_answer *answer) MUST_CHECK;

/* Another policy is in force: every question ends and every yes is void. */
void consent_clear(struct consent *consent);

/* What one request asks for; borrowed for the call. */
struct consent_request {
	const struct flow *flow;
	const struct request *head;
	const struct urlpath *path;
	const struct verdict *verdict; /* of the kind ask */
	const uint8_t *id; /* EVENT_REQ_ID bytes */
};

enum consent_now {
	CONSENT_GIVEN, /* one use of a yes is taken */
	CONSENT_REFUSED, /* for the reason in the ask */
	CONSENT_WAITING /* on_answer or on_replaced will be called, once */
};

/* One request's; the caller's room, zeroed but for the calls. */
struct consent_ask {
	struct approvals_wait wait;
	void (*on_answer)(struct consent_ask *ask, enum reason reason);
	/* The policy changed meanwhile: judge it again. */
	void (*on_replaced)(struct consent_ask *ask);
	struct event *hold;
	enum reason reason; /* of a refusal */
	const char *cause; /* in words, or NULL */
	char id[LIMIT_ASK_ID + 1]; /* of its question; or empty */
};

/* What the sandbox would like to be asked, without making the request. */
struct consent_proposal {
	const struct facts *facts; /* of STAGE_REQUEST, and the last */
	const struct verdict *verdict; /* on them, of the kind ask */
	bool tls;
	struct cursor words; /* its own; they are shown as such, if they fit */
	const struct flow *flow; /* over which it is proposed */
	const uint8_t
	    *id; /* of the request that proposes; EVENT_REQ_ID bytes */
};

/*
 * Opens the question, and nothing else: WAITING with its id when it is open
 * now or was already; GIVEN, of which nothing is used, when a yes stands;
 * REFUSED for the reason in *ret_reason.
 */
enum consent_now consent_propose(struct consent *consent,
    const struct consent_proposal *proposal, char ret_id[LIMIT_ASK_ID + 1],
    enum reason *ret_reason) MUST_CHECK;

enum consent_now consent_ask(struct consent *consent,
    const struct consent_request *request, struct consent_ask *ask) MUST_CHECK;

/* Also for one that does not wait. */
void consent_forget(struct consent_ask *ask);

#endif
