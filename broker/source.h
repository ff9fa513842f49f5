/*
 * source - where a long-lived secret comes from, as the credential file says.
 *
 * The broker opens nothing by itself: its parent opens what is named, and
 * source_read() looks at the open file, for a path could be another file by
 * now.
 */
#ifndef BROKER_SOURCE_H
#define BROKER_SOURCE_H

#include "schema/brokerage.h"

#include <stdbool.h>

struct reading;
struct secret;

enum source_kind {
	SOURCE_NONE,
	SOURCE_GIVEN, /* by a descriptor of the parent's */
	SOURCE_CREDENTIAL /* what another credential, of kind vault, mints */
};

struct source {
	enum source_kind kind;
	enum brokerage_source from; /* of SOURCE_GIVEN */
	char *name; /* path, number, variable, credential; owned */
};

/*
 * Reads {"file": "path"} and its like from the member "source".  False when
 * there is none, or it was reported.
 */
bool source_parse(const struct reading *reading, struct source *ret);
void source_done(struct source *source);

/*
 * Reads a secret from fd, which stays the caller's.  A file must be a plain
 * one, of our account, and closed to everybody else.  One line end behind a
 * text is not part of it.
 */
int source_read(enum brokerage_source from, int fd, struct secret **ret,
    struct problem *reterr) MUST_CHECK;

/*
 * Reads a file that holds no secret itself but is as closely kept: the
 * credential file.  Gives its text, to be freed.
 */
int source_read_text(int fd, size_t most, char **ret, size_t *ret_length,
    struct problem *reterr) MUST_CHECK;

#endif
