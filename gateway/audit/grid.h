/*
 * grid - one answer as a table of a page.
 *
 * How a column is shown stands before the colon of its name: "text:host" is
 * headed "host".  The kinds are in grid.c.
 */
#ifndef GATEWAY_AUDIT_GRID_H
#define GATEWAY_AUDIT_GRID_H

#include "gateway/audit/query.h"

#include <stdio.h>

struct grid {
	FILE *out;
	const char *id, *title;
	unsigned looks[QUERY_COLUMNS_MAX];
	size_t columns, rows;
	int64_t level;
};

/* Writes the table as it is answered; grid_end() ends it. */
struct query_reader grid_reader(struct grid *grid);
void grid_end(const struct grid *grid);

#endif
