/*
 * https - one exchange by libcurl in our loop: verified, bounded, no redirect.
 *
 * The name is resolved first, by gateway/net, and libcurl is told the
 * addresses: its own resolver would need a thread.  TLS 1.2 at least; who
 * signs for an endpoint is the endpoint's own roots, or the machine's.  No
 * proxy, no cookie, no file of the user's, whatever the environment says.
 *
 * At most LIMIT_ERRANDS at once, LIMIT_ERRAND_MS for each, LIMIT_ERRAND_ANSWER
 * bytes of an answer.  The only user of libcurl.
 */
#ifndef BROKER_FETCH_HTTPS_H
#define BROKER_FETCH_HTTPS_H

#include "schema/errand.h"

struct endpoints;
struct event_base;
struct https;
struct problem;
struct resolver;

/* Once for each errand that was started; answer is borrowed for the call. */
typedef void https_call(const struct errand_answer *answer, void *arg);

struct https_setting {
	struct event_base *base;
	struct resolver *resolver;
	const struct endpoints *endpoints;
	struct cursor roots; /* the machine's, PEM */
	https_call *on_answer;
	void *arg;
};

/* Borrows all of setting, which must outlive it.  NULL: *reterr tells why. */
struct https *https_new(
    const struct https_setting *setting, struct problem *reterr) MUST_CHECK;

/* Breaks off what is under way; nobody is called. */
void https_free(struct https *https);

/*
 * Starts one, of which nothing is borrowed afterwards.  on_answer is called
 * when it is over, whatever came of it, and never before this has returned.
 * STATUS_NOT_FOUND for an endpoint that is none, STATUS_MALFORMED for a field
 * that cannot stand in a head, STATUS_NO_MEMORY.
 */
int https_start(struct https *https, const struct errand *errand) MUST_CHECK;

#endif
