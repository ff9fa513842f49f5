/*
 * fleet - the PostgreSQL that the rows of many audits go to.
 *
 * Everything blocks: its program does nothing else.  A call that finds the
 * connection gone says so with STATUS_CLOSED; then open another.
 */
#ifndef GATEWAY_SHIP_FLEET_H
#define GATEWAY_SHIP_FLEET_H

#include "schema/cursor.h"
#include "schema/problem.h"

#include <stddef.h>
#include <stdint.h>

struct fleet;

/* where is a connection string or URI of libpq. */
int fleet_open(const char *where, struct fleet **ret, struct problem *reterr)
    MUST_CHECK;
void fleet_close(struct fleet *fleet);

/* SQL of ours without a value; several statements may stand in it. */
int fleet_run(struct fleet *fleet, const char *sql, struct problem *reterr)
    MUST_CHECK;

/* One row at a time; a NULL value is NULL. */
struct fleet_reader {
	void (*on_columns)(const char *const *names, size_t count, void *arg);
	/* False ends the answer.  Types are PostgreSQL's own numbers. */
	bool (*on_row)(const char *const *values, const unsigned *types,
	    size_t count, void *arg);
	void *arg;
};

#define FLEET_INT8 20
#define FLEET_TEXT 25
#define FLEET_BYTEA 17

/* values are those of $1, $2 and so on. */
int fleet_ask(struct fleet *fleet, const char *sql, const char *const *values,
    size_t count, const struct fleet_reader *reader, struct problem *reterr)
    MUST_CHECK;

/* The first column of the first row; 0 when it is NULL or there is none. */
int fleet_number(struct fleet *fleet, const char *sql,
    const char *const *values, size_t count, int64_t *ret,
    struct problem *reterr) MUST_CHECK;

/* text is rows as COPY writes them. */
int fleet_copy(struct fleet *fleet, const char *table, struct cursor text,
    struct problem *reterr) MUST_CHECK;

/* A bytea as libpq gives it, to be freed; NULL when there is no memory. */
unsigned char *fleet_bytes(const char *value, size_t *ret_length) MUST_CHECK;

#endif
