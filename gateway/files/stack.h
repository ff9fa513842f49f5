/*
 * stack - the trees whose sum a run saw as its workspace.
 *
 * The base is the workspace itself; over it lie the sealed layers the run
 * began with, and on top what it wrote.  It is read as an overlay reads it:
 * the topmost entry of a name counts, a whiteout is a name that is gone, an
 * opaque directory hides what lies below, and directories are merged.
 */
#ifndef GATEWAY_FILES_STACK_H
#define GATEWAY_FILES_STACK_H

#include "schema/attr.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct box;

struct stack {
	int base;
	int trees[LIMIT_STACK + 1]; /* the topmost first */
	size_t count;
	int64_t base_ns;
	/* Paths that we whited out ourselves, sorted; they are no deletions. */
	char *hidden_text;
	const char **hidden;
	size_t hidden_count;
};

/* All of a box that is held. */
int stack_open(const struct box *box, struct stack *ret, struct problem *reterr)
    MUST_CHECK;
void stack_done(struct stack *stack);

/* Whether path, or a folder above it, is one of the hidden paths. */
bool stack_hides(const struct stack *stack, const char *path);

/* Whether one of the hidden paths lies below path. */
bool stack_hides_below(const struct stack *stack, const char *path);

bool stack_is_whiteout(const struct stat *st);

/* Whether the directory behind fd hides what lies below it. */
bool stack_is_opaque(int fd);

#endif
