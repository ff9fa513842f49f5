/*
 * plan_member - one value of a plan's JSON, read as what it should be.
 *
 * What is wrong is told with the JSON path of the object it stands in; values
 * that are given are borrowed from the document.  Pure.
 */
#ifndef GATEWAY_LAUNCH_PLAN_MEMBER_H
#define GATEWAY_LAUNCH_PLAN_MEMBER_H

#include "schema/problem.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One key of an object: what it must be, and whether it must be there. */
struct plan_key {
	const char *name;
	json_type type; /* JSON_TRUE stands for either truth value */
	bool needed;
	bool may_be_null;
};

/* Tells what is wrong at path; returns STATUS_PROBLEM. */
int plan_wrong(struct problem *reterr, const char *path, const char *format,
    ...) PRINTF_LIKE(3, 4);

/* No key but those of the table, each of its type, and all that are needed. */
int plan_check_keys(json_t *object, const struct plan_key *keys, size_t count,
    const char *path, struct problem *reterr) MUST_CHECK;

/* Of a member that was checked; fallback when there is none. */
const char *plan_text(json_t *object, const char *name, const char *fallback);
bool plan_flag(json_t *object, const char *name, bool fallback);

/* From 1 to most; *ret stays what it is when there is none. */
int plan_number(json_t *object, const char *name, int64_t most, uint64_t *ret,
    struct problem *reterr) MUST_CHECK;

#endif
