/*
 * passage - what a request and its answer go through between the two legs: a
 * credential is put in, placeholders are looked for, an AWS request is signed
 * anew, and a secret that comes back is masked.
 *
 * One that is all zeroes lets everything through as it is.
 */
#ifndef GATEWAY_FLOW_PASSAGE_H
#define GATEWAY_FLOW_PASSAGE_H

#include "gateway/flow/inject.h"
#include "gateway/flow/refit.h"
#include "gateway/proto/response.h"
#include "schema/reason.h"

struct echo;
struct grant;
struct lure_watch;
struct lures;
struct rule;
struct sigv4;
struct stead;

struct passage {
	const struct lures *lures; /* NULL: none to look for */
	struct sigv4 *sigv4;
	struct lure_watch *watch;
	struct stead *stead;
	const char *leaked; /* whose placeholder a changed body still has */
	struct echo *echo;
	struct refit there, back; /* the bodies, where they are changed */
};

struct passage_order {
	const struct request *head;
	struct cursor path; /* as it will be sent */
	const struct lures *lures; /* or NULL */
	const struct rule *rule; /* that names the credential, or NULL */
	const struct grant *grant; /* NULL: there is none to put in */
	int64_t now_s;
};

/* What has to live until the head is written. */
struct passage_room {
	struct inject_room inject;
	unsigned char path[LIMIT_HTTP_URI], query[LIMIT_HTTP_URI];
	struct request head;
	struct cursor path_text; /* in the stead of order->path */
};

/* Why a request cannot leave; words are for people. */
struct passage_fault {
	enum reason reason;
	const char *words; /* "" for none */
	const char *credential; /* whose placeholder it was, or NULL */
};

/*
 * Makes room->head and its path of order's, as they may leave.  A passage that
 * was begun before begins anew.
 */
struct passage_fault passage_begin(struct passage *passage,
    const struct passage_order *order, struct passage_room *room) MUST_CHECK;

/*
 * Looks at a slice of the request's body; a placeholder in it must not go on.
 * Gives whose it is, or NULL.
 */
const char *passage_see(struct passage *passage, struct cursor bytes);

/* Changes *response as it may go inside.  Anything but STATUS_OK: it may not.
 */
int passage_answer(struct passage *passage, struct response *response)
    MUST_CHECK;

/* Looks at a slice of an answer that is not changed. */
void passage_look(struct passage *passage, struct cursor bytes);

/* Whether a body of a request that has ended is whole. */
bool passage_is_whole(const struct passage *passage);

/* Whether a secret came back. */
bool passage_has_echoed(const struct passage *passage);

void passage_done(struct passage *passage);

#endif
