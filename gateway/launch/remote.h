/*
 * remote - pages of another process's memory, a few of them read at a time.
 *
 * A read never goes over the end of a page, which may be the last of its
 * mapping.  What is read can be something else a moment later.
 *
 * Processes that were forked from one another keep their words in the same
 * places: the pages that had to be read later for the last one are read at
 * once for the next.
 */
#ifndef GATEWAY_LAUNCH_REMOTE_H
#define GATEWAY_LAUNCH_REMOTE_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REMOTE_PAGE 4096 /* the smallest there is */
#define REMOTE_PAGES 4
#define REMOTE_GUESSES 2 /* so that there is room for what was asked for */

/* The owner's room; remote_begin() is its beginning. */
struct remote {
	pid_t tid;
	size_t next; /* the place that is filled next */
	bool begun; /* something was read of this one */
	uint64_t guesses[REMOTE_GUESSES]; /* of the last; 0: none */
	struct {
		uint64_t from;
		bool there;
	} pages[REMOTE_PAGES];
	unsigned char bytes[REMOTE_PAGES][REMOTE_PAGE];
};

/* Forgets what was read; tid waits while it is read. */
void remote_begin(struct remote *remote, pid_t tid);

/* Reads the pages of these addresses in one call, as many as find room; a
 * page that cannot be read is none. */
void remote_want(
    struct remote *remote, const uint64_t *addresses, size_t count);

/* What is from address to the end of its page; good until the next read. */
bool remote_at(struct remote *remote, uint64_t address, struct cursor *ret)
    MUST_CHECK;

#endif
