/*
 * summary - what one run did, as the questions that make one screen.
 *
 * Each section is SQL over one run, whose uid is the parameter sbx.  Counts
 * mean what event_is_request() and event_is_refusal() say.
 */
#ifndef GATEWAY_AUDIT_SUMMARY_H
#define GATEWAY_AUDIT_SUMMARY_H

#include "gateway/audit/across.h"

#include <stdbool.h>
#include <stddef.h>

struct summary_section {
	const char *name; /* for programs: "denied" */
	const char *title; /* for people */
	struct question question;
	bool is_one_row;
};

/* In the order to show them; gives how many. */
const struct summary_section *summary_sections(size_t *ret_count);

/* The uid of the run that began last, as one column. */
extern const struct question summary_last_run;

/* Why the run sbx was refused what, and how often; the commonest first. */
extern const struct question summary_reasons;

/* How many runs there are with the uid sbx: 0 or 1. */
extern const struct question summary_find_run;

/* Of an observed run: why how many requests would have been refused. */
extern const struct question summary_observed;

#endif
