/*
 * producer - one channel at the writer that rows come from.
 *
 * Producers are not trusted: a bad frame, a number out of turn, a row that
 * names a row of another run, or more rows than LIMIT_EVENTS_HELD ends the
 * producer, and a row of kind audit says so.
 */
#ifndef GATEWAY_AUDIT_PRODUCER_H
#define GATEWAY_AUDIT_PRODUCER_H

#include "gateway/audit/writer.h"
#include "schema/cursor.h"

/* What all producers of one run share. */
struct producer_run {
	struct writer *writer;
	const struct store_run *run;
	bool has_rows; /* its first row is queued, its last one is not */
	uint64_t requests, refused;
};

/* The caller's; filled by it but for the last two. */
struct producer {
	struct writer_source source;
	struct producer_run *of;
	enum event_role role;
	uint64_t number; /* of its last row */
	bool bad; /* it has broken its contract, and that was told */
};

const char *producer_name(const struct producer *producer);

/* Queues the rows of one frame's body, or ends the producer. */
void producer_take(struct producer *producer, struct cursor body);

/* Ends a producer that has broken its contract, and says so in a row. */
void producer_end(struct producer *producer, const char *why);

#endif
