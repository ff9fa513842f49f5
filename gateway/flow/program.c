#include "gateway/flow/program.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct program {
	LIST_ENTRY(program) next;
	size_t count;
	struct sighting sighting;
};

static bool
is_same(const struct sighting *a, const struct sighting *b)
{
	return a->pid == b->pid && a->has_digest == b->has_digest &&
	       memcmp(a->digest, b->digest, sizeof(a->digest)) == 0 &&
	       strcmp(a->exe, b->exe) == 0 && strcmp(a->argv, b->argv) == 0;
}

struct program *
program_ref_to(struct program_list *list, const struct sighting *sighting)
{
	struct program *program;

	LIST_FOREACH(program, list, next)
		if (is_same(&program->sighting, sighting))
			break;
	if (program == NULL) {
		program = calloc(1, sizeof(*program));
		if (program == NULL)
			return NULL;
		program->sighting = *sighting;
		LIST_INSERT_HEAD(list, program, next);
	}
	program->count++;
	return program;
}

void
program_unref(struct program *program)
{
	if (program == NULL || --program->count > 0)
		return;
	LIST_REMOVE(program, next);
	free(program);
}

const struct sighting *
program_sighting(const struct program *program)
{
	return program == NULL ? NULL : &program->sighting;
}
