/*
 * pathmatch - "*" and "**" over canonical paths, files and other texts.
 *
 * "*" stands for any bytes within one segment, "**" for any bytes.  A last
 * segment of "**" also covers the path above it, without its slash.  A byte
 * that means the same whether it is percent-encoded or not ("@", "+", ";") is
 * one byte to a pattern; "%2F", "%3F", "%23" and "%25" are not what they
 * encode.
 *
 * Nothing is tried twice: the set of places that the text can have reached in
 * the pattern moves along the text once.
 */
#ifndef POLICY_PATHMATCH_H
#define POLICY_PATHMATCH_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/limits.h"

/* A token is a byte, an encoded byte that differs from it, or a wildcard. */
enum pathmatch_token {
	PATHMATCH_ENCODED = 0x100,
	PATHMATCH_STAR = 0x200,
	PATHMATCH_STARS
};

struct pathmatch {
	char *text; /* as people write it; owned, as are the tokens */
	uint16_t *tokens;
	size_t length; /* of tokens */
	size_t prefix; /* how many tokens stand before the first "*" */
	size_t literal; /* how many are no "*": how specific it is */
	bool path; /* else nothing in it is encoded */
	bool parent; /* ends in "/" and "**": what stands before is covered */
};

/*
 * Reads a pattern for paths, made canonical as urlpath makes paths.
 * STATUS_MALFORMED when no canonical path could ever match it,
 * STATUS_TOO_LONG, STATUS_NO_MEMORY.
 */
int pathmatch_init_path(
    struct pathmatch *match, const char *text, size_t length) MUST_CHECK;

/*
 * Reads a pattern for the path of a file: as for paths, but nothing in it is
 * encoded, and "**" does not cover the folder above it.
 */
int pathmatch_init_file(
    struct pathmatch *match, const char *text, size_t length) MUST_CHECK;

/* Reads a pattern for other text, where "*" stands for any bytes. */
int pathmatch_init_text(
    struct pathmatch *match, const char *text, size_t length) MUST_CHECK;

void pathmatch_done(struct pathmatch *match);

bool pathmatch_holds(const struct pathmatch *match, struct cursor text);

/* The next token of a path that is written in its canonical form. */
bool pathmatch_next(struct cursor *path, uint16_t *ret) MUST_CHECK;

/* Whether wide holds wherever narrow does; false if unsure. */
bool pathmatch_covers(
    const struct pathmatch *wide, const struct pathmatch *narrow);

/* False only when no path is matched by both. */
bool pathmatch_may_meet(const struct pathmatch *a, const struct pathmatch *b);

#endif
