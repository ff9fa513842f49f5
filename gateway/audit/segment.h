/*
 * segment - one database file, open for its only writer.
 *
 * An empty file is given the schema of schema/audit and the numbers of
 * schema/event and schema/reason, one of an older version is brought to this
 * one; a file that is no segment of ours, or of a version we do not know, is
 * refused and left alone.  One connection writes and
 * checkpoints: nobody else may open the file for writing.
 */
#ifndef GATEWAY_AUDIT_SEGMENT_H
#define GATEWAY_AUDIT_SEGMENT_H

#include "schema/cursor.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

/* "EXEA" in the file's header; user_version is the schema's. */
#define SEGMENT_APPLICATION 0x45584541
#define SEGMENT_VERSION 2

struct segment;
struct sqlite3;
struct sqlite3_stmt;

/*
 * What an empty file is told of itself: its number, and behind the first one
 * the chain's name, key and start.
 */
struct segment_birth {
	int64_t number;
	struct cursor chain, key, start;
};

/*
 * Once, before a database is opened, in a program that has one thread: it
 * takes no locks then.
 */
void segment_begin_alone(void);

/*
 * A file that has its schema keeps what it was told then.  STATUS_NOT_FOUND
 * when it has none and birth does not say enough.
 */
int segment_open(const char *path, const struct segment_birth *birth,
    struct segment **ret, struct problem *reterr) MUST_CHECK;

/* Checkpoints and closes; statements made from it must be finalised. */
void segment_close(struct segment *segment);

/* Closes and leaves its log to the next who opens it. */
void segment_leave(struct segment *segment);

/* Borrows from segment. */
struct sqlite3 *segment_handle(struct segment *segment);

/* A statement kept for long; NULL when it cannot be prepared. */
struct sqlite3_stmt *segment_prepare(struct segment *segment, const char *sql)
    MUST_CHECK;

/* Runs constant SQL that gives no rows; false when it fails. */
bool segment_run(struct segment *segment, const char *sql) MUST_CHECK;

/* The first column of the first row of constant SQL. */
bool segment_number(struct segment *segment, const char *sql, int64_t *ret)
    MUST_CHECK;

/* Whether the file still has its name: rows of one without are lost. */
bool segment_is_in_place(struct segment *segment) MUST_CHECK;

/* What the database said last. */
const char *segment_error(struct segment *segment);

/* Copies the write-ahead log into the file once it is large. */
void segment_checkpoint(struct segment *segment);

#endif
