#include "gateway/cli/shipping.h"

#include "gateway/cli/command.h"
#include "gateway/cli/program.h"
#include "gateway/cli/settings.h"
#include "schema/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return COMMAND_FAILED;
}

static bool
has(int argc, char **argv, const char *option)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], option) == 0)
			return true;
	return false;
}

int
shipping_run(int argc, char **argv)
{
	struct settings settings;
	struct problem problem = { 0 };
	struct program program;
	char name[] = "exeat-ship", option[] = "--audit";
	char **words = calloc((size_t)argc + 3, sizeof(*words));
	int count = argc;

	if (words == NULL)
		return COMMAND_FAILED;
	memcpy(words, argv, (size_t)argc * sizeof(*words));
	words[0] = name;
	/* What is made again has a name of its own. */
	if (!has(argc, argv, option) && !has(argc, argv, "--recall")) {
		if (settings_read(&settings, &problem) != STATUS_OK) {
			free(words);
			return complain(&problem);
		}
		words[count++] = option;
		words[count] = settings.audit;
	}
	if (program_find(name, &program, &problem) == STATUS_OK) {
		(void)execve(program.path, words, environ);
		(void)problem_errno(&problem, "cannot start %s", name);
	}
	free(words);
	return complain(&problem);
}
