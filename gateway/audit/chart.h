/*
 * chart - requests over time as bars of one SVG, for a page.
 *
 * A bar is one of CHART_BARS equal parts of the time that the page is about,
 * and what was refused in it stands on what was allowed.
 */
#ifndef GATEWAY_AUDIT_CHART_H
#define GATEWAY_AUDIT_CHART_H

#include "gateway/audit/query.h"

#include <stdio.h>

#define CHART_BARS 60 /* schema/audit/report/time.sql has the same number */

struct chart {
	const char *title;
	int64_t span_us; /* of all bars together */
	int64_t allowed[CHART_BARS], refused[CHART_BARS];
	int64_t most; /* of the highest bar */
};

/* Reads rows of a bar's number, what was allowed in it and what refused. */
struct query_reader chart_reader(struct chart *chart);

/* Writes nothing when there were no requests. */
void chart_write(const struct chart *chart, FILE *out);

#endif
