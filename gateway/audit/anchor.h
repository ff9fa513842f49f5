/*
 * anchor - checkpoints that were kept where the audit's writer cannot reach.
 *
 * A text file: notes as `exeat audit checkpoint` prints them, with empty
 * lines between them, and perhaps the key's text, as `exeat audit verify
 * --key` prints it, on a line of its own.
 */
#ifndef GATEWAY_AUDIT_ANCHOR_H
#define GATEWAY_AUDIT_ANCHOR_H

#include "gateway/audit/checkpoint.h"
#include "schema/problem.h"

struct anchor {
	struct checkpoint *list; /* in order of size */
	size_t count;
	char key[CHECKPOINT_KEY]; /* empty when the file has none */
};

int anchor_load(const char *path, struct anchor *ret, struct problem *reterr)
    MUST_CHECK;

/* The same from bytes; name is for the problem. */
int anchor_read(struct cursor text, const char *name, struct anchor *ret,
    struct problem *reterr) MUST_CHECK;
void anchor_done(struct anchor *anchor);

#endif
