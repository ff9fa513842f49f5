/*
 * pathmatch - "*" and "**" over canonical paths, and over query values.
 *
 * "*" stands for any bytes within one segment, "**" for any bytes.  A "/**"
 * at the end also covers the path before it: "/a/**" holds for "/a".
 * Matching takes time linear in the text for a given pattern, whatever both
 * are: a set of pattern positions moves along, nothing is tried twice.
 */
#ifndef POLICY_PATHMATCH_H
#define POLICY_PATHMATCH_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/limits.h"

struct pathmatch {
	size_t length; /* of text, without its NUL */
	size_t prefix; /* how many bytes stand before the first "*" */
	size_t literal; /* how many bytes are no "*": how specific it is */
	char *text; /* owned */
};

/*
 * Reads a pattern for paths, made canonical as urlpath makes paths.
 * STATUS_MALFORMED when no canonical path could ever match it,
 * STATUS_TOO_LONG, STATUS_NO_MEMORY.
 */
int pathmatch_init_path(
    struct pathmatch *match, const char *text, size_t length) MUST_CHECK;

/* Reads a pattern for other text, where "*" stands for any bytes. */
int pathmatch_init_text(
    struct pathmatch *match, const char *text, size_t length) MUST_CHECK;

void pathmatch_done(struct pathmatch *match);

bool pathmatch_holds(const struct pathmatch *match, struct cursor text);

/* Whether wide holds wherever narrow does; false if unsure. */
bool pathmatch_covers(
    const struct pathmatch *wide, const struct pathmatch *narrow);

/* False only when no path is matched by both. */
bool pathmatch_may_meet(const struct pathmatch *a, const struct pathmatch *b);

#endif
