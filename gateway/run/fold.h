/*
 * fold - which of many refusals that are alike get a row of their own, and
 * which are counted in one.
 *
 * A program can be refused as often as it likes, but it must not fill the
 * audit by it.  The first LIMIT_FOLD_ROWS refusals of a kind, which is where
 * they meant to go and why they were refused, have rows; the others are
 * counted, and their sum is due after LIMIT_FOLD_MS and at the end.  So none
 * goes unrecorded.  LIMIT_FOLD_KINDS are told apart; beyond, all are one kind.
 *
 * Pure: it is told what time it is, in microseconds that never go back.
 */
#ifndef GATEWAY_RUN_FOLD_H
#define GATEWAY_RUN_FOLD_H

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/reason.h"

#include <stdint.h>

struct fold;

/* One refusal.  Text is cut to LIMIT_HOST bytes. */
struct fold_item {
	struct cursor zone; /* what they have in common */
	struct cursor what; /* this one's own */
	uint16_t number; /* a port, a type: for the row that tells the sum */
	struct address address; /* or unset */
	enum reason reason;
};

/* count refusals without a row, and the last of them. */
struct fold_sum {
	char zone[LIMIT_HOST + 1]; /* empty: of many kinds */
	char what[LIMIT_HOST + 1];
	uint16_t number;
	struct address address;
	enum reason reason;
	uint64_t count;
};

struct fold *fold_new(void) MUST_CHECK;
void fold_free(struct fold *fold);

/*
 * Whether this refusal gets a row of its own; it is counted otherwise.  Take
 * the sums that are due before.
 */
bool fold_admits(
    struct fold *fold, const struct fold_item *item, int64_t now_us) MUST_CHECK;

/* Gives the next sum that is due; at the end (INT64_MAX) every one is. */
bool fold_take(struct fold *fold, int64_t now_us, struct fold_sum *ret)
    MUST_CHECK;

#endif
