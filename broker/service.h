/*
 * service - what the broker of a run answers: frames in, frames out.
 *
 * It owns no channel: a program joins it to one, and which run a frame speaks
 * for is fixed by the channel it comes on.  A credential is given only if the
 * run needs it by its policy, and only for hosts that the credential file
 * binds it to.  Every answer is a row, a second witness to what the gateway
 * writes down.
 */
#ifndef BROKER_SERVICE_H
#define BROKER_SERVICE_H

#include "broker/catalog.h"
#include "broker/lease.h"
#include "schema/event.h"
#include "schema/frame.h"

struct service;

struct service_events {
	/* To the gateway. */
	int (*send)(const struct cursor_writer *out, void *arg);
	int (*record)(struct event *event, void *arg);
	int (*run_errand)(const struct errand *errand, void *arg);
	/* Why the run may not have it all the same, or NULL; itself too. */
	const char *(*objection)(const char *credential, void *arg);
	/* What a slot of the run's page has now. */
	uint64_t (*generation)(uint16_t slot, void *arg);
	void *arg;
};

struct service_time {
	int64_t wall_us, monotonic_us;
};

/* All borrowed until service_free(). */
struct service *service_new(struct catalog *catalog, const struct mint_run *run,
    const struct service_events *events) MUST_CHECK;
void service_free(struct service *service);

/*
 * One frame of the gateway's.  Anything but STATUS_OK ends its channel:
 * STATUS_MALFORMED for what it may not say.
 */
int service_take(struct service *service, const struct frame *frame,
    struct service_time now) MUST_CHECK;

/*
 * No exchange may use this credential any more; the caller has changed its
 * slot, which is given, in the page before it acknowledges.  STATUS_NOT_FOUND
 * when the run has no such credential.
 */
int service_revoke(struct service *service, const char *credential,
    struct service_time now, uint16_t *ret_slot) MUST_CHECK;

/* One frame of the errands' program, and time that passes. */
int service_answer(struct service *service, const struct frame *frame,
    struct service_time now) MUST_CHECK;
void service_tick(struct service *service, struct service_time now);

/* The run is over: gives back what can be, and says when that is done. */
void service_end(struct service *service, struct service_time now);
bool service_is_busy(const struct service *service);

#endif
