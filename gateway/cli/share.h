/*
 * share - how much of the machine a run may use, as people write it.
 */
#ifndef GATEWAY_CLI_SHARE_H
#define GATEWAY_CLI_SHARE_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stdint.h>

struct json_t;

enum share_limit {
	SHARE_MEMORY,
	SHARE_CPU, /* thousandths of a processor */
	SHARE_PIDS,
	SHARE_OPEN_FILES,
	SHARE_FILE_SIZE,
	SHARE_WORKSPACE,
	SHARE_TMP,
	SHARE_IDLE, /* milliseconds */
	SHARE_GRACE, /* milliseconds */
	SHARE_COUNT
};

struct share {
	int64_t limits[SHARE_COUNT]; /* 0: not asked for */
	bool best_effort;
};

/* Takes one "name=value", as in memory=2GiB, cpu=1.5 or idle=10m. */
int share_take(struct share *share, const char *text, struct problem *reterr)
    MUST_CHECK;

/* Takes the value of one, as in 2GiB, 1.5 or 10m. */
int share_set(struct share *share, enum share_limit limit, const char *text,
    struct problem *reterr) MUST_CHECK;

/* "2GiB", "64M", or bytes: from 1 byte to 2^50. */
bool share_bytes(const char *text, int64_t *ret) MUST_CHECK;

/* "90s", "30m", "2h", "500ms", or seconds: milliseconds, at most a year. */
bool share_time(const char *text, int64_t *ret_ms) MUST_CHECK;

/* Into a plan; false when there is no memory. */
bool share_plan(const struct share *share, struct json_t *plan) MUST_CHECK;

#endif
