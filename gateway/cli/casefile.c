#include "gateway/cli/casefile.h"

#include "gateway/cli/command.h"
#include "gateway/cli/layering.h"
#include "gateway/proc/clock.h"
#include "policy/caseline.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>

struct casefile {
	const char *path;
	const struct stack *stack;
	int64_t now_us;
	size_t number; /* of the line */
	size_t right, wrong;
};

static void
tell(const struct casefile *file, const struct caseline *line)
{
	if (line->result == CASELINE_BROKEN) {
		(void)printf("%s:%zu: there is no \"=>\" in this line\n"
			     "    write it as in GET https://a.example.com/ "
			     "=> allow\n",
		    file->path, file->number);
		return;
	}
	(void)printf("%s:%zu: %.*s: %s, not %.*s\n", file->path, file->number,
	    (int)line->question.left, (const char *)line->question.at,
	    line->answer, (int)line->expected.left,
	    (const char *)line->expected.at);
	if (line->problem.text[0] != '\0')
		(void)printf("    %s\n", line->problem.text);
}

static bool
weigh_line(struct casefile *file, struct cursor text)
{
	struct caseline *line = calloc(1, sizeof(*line));
	bool well = line != NULL && caseline_weigh(file->stack, text,
					file->now_us, line) == STATUS_OK;

	if (well && line->result == CASELINE_RIGHT) {
		file->right++;
	} else if (well && line->result != CASELINE_NOTHING) {
		file->wrong++;
		tell(file, line);
	}
	free(line);
	return well;
}

/* False when the file cannot be read to its end. */
static bool
weigh_lines(struct casefile *file, FILE *from)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	bool well = true;

	while (well && (length = getline(&line, &room, from)) >= 0) {
		if (length > 0 && line[length - 1] == '\n')
			length--;
		file->number++;
		well = weigh_line(file, cursor_of(line, (size_t)length));
	}
	free(line);
	return well && ferror(from) == 0;
}

static int
summarise(const struct casefile *file)
{
	size_t count = file->right + file->wrong;

	if (count == 0) {
		(void)printf("%s: there is no question in it\n", file->path);
		return COMMAND_NO;
	}
	(void)printf(
	    "%s: %zu of %zu as expected\n", file->path, file->right, count);
	return file->wrong == 0 ? COMMAND_OK : COMMAND_NO;
}

int
casefile_run(char **policies, size_t count, const char *path)
{
	struct casefile file = { .path = path, .now_us = clock_wall_us() };
	struct layering layers = { .count = 0 };
	struct problem problem = { 0 };
	FILE *from;
	int code = COMMAND_FAILED;

	if (!layering_load(&layers, policies, count))
		return COMMAND_NO;
	file.stack = layers.stack;
	from = fopen(path, "re");
	if (from == NULL)
		(void)problem_errno(&problem, "cannot read %s", path);
	else if (!weigh_lines(&file, from))
		(void)problem_set(&problem, "cannot read %s to its end", path);
	else
		code = summarise(&file);
	if (code == COMMAND_FAILED)
		(void)fprintf(stderr, "exeat policy: %s\n", problem.text);
	if (from != NULL)
		(void)fclose(from);
	layering_done(&layers);
	return code;
}
