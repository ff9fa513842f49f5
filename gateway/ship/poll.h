/*
 * poll - a question of schema/audit/questions, put to a whole fleet.
 *
 * The same text is asked as of one audit: the fleet's schema has the words of
 * SQLite that it uses.  Its parameters become PostgreSQL's.
 */
#ifndef GATEWAY_SHIP_POLL_H
#define GATEWAY_SHIP_POLL_H

#include "gateway/audit/query.h"

/* values: what the question may name; text borrows until the row returns. */
int poll_fleet(const char *where, const char *sql,
    const struct query_values *values, const struct query_reader *reader,
    struct problem *reterr) MUST_CHECK;

#endif
