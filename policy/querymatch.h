/*
 * querymatch - one condition on a parameter of a query.
 *
 * A query is read as forms are: parameters split by "&", "+" a blank, percent
 * encoding undone in names and values.  Servers differ over a raw ";", a bad
 * percent encoding and a repeated name; the answer tells such queries apart,
 * and the rule takes them the strict way.
 */
#ifndef POLICY_QUERYMATCH_H
#define POLICY_QUERYMATCH_H

#include "policy/pathmatch.h"

struct querymatch {
	char *name; /* decoded; owned */
	struct pathmatch value;
};

enum querymatch_answer {
	QUERYMATCH_NONE, /* no such parameter, or none with such a value */
	QUERYMATCH_SOME, /* one has the value, another has not */
	QUERYMATCH_UNCLEAR, /* readers would not agree */
	QUERYMATCH_ALL
};

/* STATUS_TOO_LONG or STATUS_NO_MEMORY. */
int querymatch_init(struct querymatch *match, const char *name,
    const char *value, size_t length) MUST_CHECK;
void querymatch_done(struct querymatch *match);

enum querymatch_answer querymatch_weigh(
    const struct querymatch *match, struct cursor query);

#endif
