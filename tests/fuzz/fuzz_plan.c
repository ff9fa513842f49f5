/*
 * fuzz_plan - the launcher's plan: plan_parse().
 *
 * What it takes must keep what it promises: a command, paths that are
 * absolute, and no two mounts on one place.
 */
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct problem problem = { 0 };
	struct plan plan;

	if (plan_parse(bytes, length, &plan, &problem) != STATUS_OK) {
		assert(problem.text[0] != '\0');
		return 0;
	}
	assert(plan.command[0] != NULL && plan.command[0][0] != '\0');
	assert(plan.cwd[0] == '/' && strstr(plan.cwd, "/../") == NULL);
	for (size_t i = 0; i < plan.mount_count; i++) {
		assert(plan.mounts[i].source[0] == '/');
		assert(plan.mounts[i].at[0] == '/' && plan.mounts[i].at[1]);
		for (size_t k = 0; k < i; k++)
			assert(
			    strcmp(plan.mounts[i].at, plan.mounts[k].at) != 0);
	}
	for (size_t i = 0; i < plan.env_count; i++)
		assert(strchr(plan.env[i].name, '=') == NULL);
	plan_done(&plan);
	return 0;
}
