/*
 * hostlist - host patterns as people write them, and sets of them by name.
 */
#ifndef POLICY_HOSTLIST_H
#define POLICY_HOSTLIST_H

#include "policy/hostmatch.h"
#include "policy/report.h"

struct hostlist {
	struct hostmatch *items;
	size_t count, room;
};

/* An own set, or one of the machine that the command has put in. */
struct hostset {
	const char *name; /* with its "@"; borrowed from the document */
	struct hostlist hosts;
};

void hostlist_done(struct hostlist *list);

/* Reads one pattern, or reports why it is none. */
void hostlist_add(struct hostlist *list, const char *text,
    const struct place *place, const struct report *report);

/* Adds copies of all of from, or reports that there is no memory. */
void hostlist_append(struct hostlist *list, const struct hostlist *from,
    const struct report *report);

#endif
