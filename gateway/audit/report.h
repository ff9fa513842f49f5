/*
 * report - one page about a run, or about all since a time, for people.
 *
 * The page is whole in itself: no script, no network, no file beside it; its
 * own content security policy forbids them.  What a sandbox chose stands in
 * it as text only.  The record is verified while the page is made, and what
 * was found stands on top.
 */
#ifndef GATEWAY_AUDIT_REPORT_H
#define GATEWAY_AUDIT_REPORT_H

#include "schema/problem.h"

#include <stdint.h>
#include <stdio.h>

struct query;

struct report {
	const char *run; /* its uid; "": all runs */
	int64_t since_us; /* of all runs; 0: from the beginning */
	const char *database; /* its name, for people */
	const char *version; /* Exeat's */
};

/* What the page says in one word. */
enum report_state {
	REPORT_CLEAN, /* all was allowed, and the record is whole */
	REPORT_REFUSALS, /* something was refused, failed, or is not over */
	REPORT_ALARMS /* an alarm, or the record is not as it was written */
};

/* Writes the page; errors of out are the caller's to look at. */
int report_write(struct query *query, const struct report *report, FILE *out,
    enum report_state *ret, struct problem *reterr) MUST_CHECK;

#endif
