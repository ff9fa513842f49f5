#include "gateway/cli/layering.h"

#include "gateway/cli/expand.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <stdio.h>

static void
print_problem(const char *file, const struct problem *problem)
{
	(void)printf("%s:", file);
	if (problem->line > 0)
		(void)printf("%u:%u:", problem->line, problem->column);
	(void)printf(" %s", problem->text);
	if (problem->path[0] != '\0' && problem->path[1] != '\0')
		(void)printf(" (%s)", problem->path);
	if (problem->cure[0] != '\0')
		(void)printf("\n    %s", problem->cure);
	(void)printf("\n");
}

void
layering_print_problems(const char *file, const struct problems *problems)
{
	for (size_t i = 0; i < problems->count; i++)
		print_problem(file, &problems->list[i]);
	if (problems->dropped > 0)
		(void)printf("%s: and %zu more\n", file, problems->dropped);
}

void
layering_done(struct layering *layering)
{
	stack_unref(layering->stack);
	for (size_t i = 0; i < layering->count; i++)
		policy_unref(layering->policies[i]);
	*layering = (struct layering){ .count = 0 };
}

static bool
add_file(struct layering *layering, const char *file)
{
	struct expansion expansion = { 0 };
	struct problems problems = { 0 };

	if (expand_file(file, NULL, NULL, &expansion, &problems) != STATUS_OK) {
		layering_print_problems(file, &problems);
		problems_done(&problems);
		return false;
	}
	layering->files[layering->count] = file;
	layering->policies[layering->count++] = policy_ref(expansion.policy);
	expansion_done(&expansion);
	return true;
}

bool
layering_load(struct layering *ret, char **files, size_t count)
{
	struct layering layering = { .count = 0 };
	bool well = count <= LIMIT_LAYERS;

	if (!well)
		(void)printf("%s: more than %d layers\n", files[LIMIT_LAYERS],
		    LIMIT_LAYERS);
	for (size_t i = 0; i < count && i < LIMIT_LAYERS; i++)
		well = add_file(&layering, files[i]) && well;
	if (well)
		layering.stack = stack_new(layering.policies, layering.count);
	if (layering.stack == NULL) {
		layering_done(&layering);
		return false;
	}
	*ret = layering;
	return true;
}
