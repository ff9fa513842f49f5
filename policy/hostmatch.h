/*
 * hostmatch - one pattern for host names.
 *
 * Exact: the name itself.  Suffix ("*.example.com"): one or more labels
 * below, not the name itself; "*" is the suffix of everything.  Glob: "*"
 * inside one label stands for any bytes of that label.
 */
#ifndef POLICY_HOSTMATCH_H
#define POLICY_HOSTMATCH_H

#include "schema/hostname.h"

/* From the most to the least specific. */
enum hostmatch_kind {
	HOSTMATCH_EXACT,
	HOSTMATCH_GLOB,
	HOSTMATCH_SUFFIX
};

struct hostmatch {
	enum hostmatch_kind kind;
	uint8_t length; /* of text, without its NUL */
	/* Where in a glob the labels right of the one with "*" begin. */
	uint8_t zone;
	/* The name, the pattern, or what stands behind "*."; owned. */
	char *text;
};

/*
 * Reads a pattern whose names are A-labels already.  STATUS_MALFORMED when
 * it is none, STATUS_REFUSED for a "*" in more than one label,
 * STATUS_NO_MEMORY.
 */
int hostmatch_init(struct hostmatch *match, const char *text, size_t length)
    MUST_CHECK;
void hostmatch_done(struct hostmatch *match);

bool hostmatch_holds(
    const struct hostmatch *match, const struct hostname *name);

/* Whether every name that narrow matches is matched by wide; false if unsure.
 */
bool hostmatch_covers(
    const struct hostmatch *wide, const struct hostmatch *narrow);

/* False only when no name is matched by both. */
bool hostmatch_may_meet(const struct hostmatch *a, const struct hostmatch *b);

/* The names below which a wildcard reaches: "" for "*"; NULL for exact. */
const char *hostmatch_zone(const struct hostmatch *match);

#define HOSTMATCH_TEXT_MAX (LIMIT_HOST + 3)

/* The pattern as people write it, with its NUL. */
void hostmatch_print(
    const struct hostmatch *match, char out[HOSTMATCH_TEXT_MAX]);

#endif
