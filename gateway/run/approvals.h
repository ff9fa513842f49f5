/*
 * approvals - what a person was asked, and what was answered.
 *
 * A question is open until it is answered, its time is over or the policy
 * changes; the same question asked again meanwhile waits with the first.  A
 * yes stands for a number of seconds and of requests, a no for as long as a
 * yes would have, so that nobody is asked over and over.  Silence is a no
 * too, but it does not stand: who asks again may find somebody there.
 *
 * Everything is matched by approval_is_same() and nothing wider.  What is
 * unknown, late or full is a no.  Pure: the time is an argument, monotonic
 * and in microseconds.
 */
#ifndef GATEWAY_RUN_APPROVALS_H
#define GATEWAY_RUN_APPROVALS_H

#include "schema/approval.h"

#include <sys/queue.h>

struct approvals;

enum approvals_answer {
	APPROVALS_YES, /* one use of it is taken */
	APPROVALS_NO,
	APPROVALS_WAIT, /* the question was open already */
	APPROVALS_NEW, /* it is open now: tell somebody */
	APPROVALS_FULL /* too much is asked at once */
};

/*
 * One request that waits; the caller's room.  on_end is called once, with the
 * end of its question; a yes has then taken one use, or, when there were more
 * requests than uses, the end is APPROVAL_REFUSED.
 */
struct approvals_wait {
	TAILQ_ENTRY(approvals_wait) entry;
	void (*on_end)(struct approvals_wait *wait, enum approval_end end);
	struct approvals_entry *on; /* NULL when it does not wait */
};

/* Told of every question that was open and is over; borrowed for the call. */
typedef void approvals_over(
    const struct approval_question *question, enum approval_end end, void *arg);

/* The name of the run makes the ids of its questions. */
struct approvals *approvals_new(
    const char *run, approvals_over *on_over, void *arg) MUST_CHECK;

/* Calls nobody. */
void approvals_free(struct approvals *approvals);

/* Asks for question, whose id it fills in, unless the answer is FULL. */
enum approvals_answer approvals_ask(struct approvals *approvals,
    struct approval_question *question, int64_t now_us) MUST_CHECK;

/*
 * The same without a request that could use a yes: YES takes nothing of it.
 */
enum approvals_answer approvals_propose(struct approvals *approvals,
    struct approval_question *question, int64_t now_us) MUST_CHECK;

/* Waits for the open question of this id; false when there is none. */
bool approvals_join(struct approvals *approvals, const char *id,
    struct approvals_wait *wait) MUST_CHECK;
void approvals_leave(struct approvals_wait *wait);

/*
 * A person's answer.  Grants no more than the question offers.
 * STATUS_NOT_FOUND when nothing of that id is open: it is late, or repeated,
 * or wrong.
 */
int approvals_settle(struct approvals *approvals,
    const struct approval_answer *answer, int64_t now_us) MUST_CHECK;

/* Ends one open question as a no that does not stand. */
void approvals_drop(struct approvals *approvals, const char *id);

/* Ends the open ones whose time is over, and forgets what has run out. */
void approvals_expire(struct approvals *approvals, int64_t now_us);

/* When the next open one is over; INT64_MAX: there is none. */
int64_t approvals_deadline(const struct approvals *approvals);

/* The policy changed: every question ends, every answer is void. */
void approvals_clear(struct approvals *approvals);

#endif
