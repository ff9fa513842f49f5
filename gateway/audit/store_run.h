/*
 * store_run - what the store is told beside events: of a run, and of a policy.
 *
 * Plain records: gateway/audit/store and what it is made of share them.
 */
#ifndef GATEWAY_AUDIT_STORE_RUN_H
#define GATEWAY_AUDIT_STORE_RUN_H

#include "schema/event.h"

#include <stdbool.h>
#include <sys/queue.h>

/* What a run's rows have in common; the caller's. */
struct store_run {
	int64_t id; /* in the segment; store_add_run() and later ones set it */
	int64_t next_id; /* the store's */
	LIST_ENTRY(store_run) entry;
	bool is_listed;
	struct event_run about; /* detail borrows from the caller */
	/* The layer loaded last: a rule without a policy is one of its. */
	uint8_t policy[32];
	bool has_policy;
};

/* One policy text, as it was loaded. */
struct store_policy {
	struct event_policy about;
	int64_t loaded_us;
	struct cursor body;
};

#endif
