#include "schema/problem.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that is too long loses its end, never its place in the output. */
static void print(char *out, size_t size, const char *format, va_list arguments)
    PRINTF_LIKE(3, 0);

static void
print(char *out, size_t size, const char *format, va_list arguments)
{
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller's */
	int length = vsnprintf(out, size, format, arguments);

	if (length < 0)
		out[0] = '\0';
}

int
problem_set(struct problem *reterr, const char *format, ...)
{
	va_list arguments;

	if (reterr == NULL)
		return STATUS_PROBLEM;
	memset(reterr, 0, sizeof(*reterr));
	va_start(arguments, format);
	print(reterr->text, sizeof(reterr->text), format, arguments);
	va_end(arguments);
	return STATUS_PROBLEM;
}

int
problem_errno(struct problem *reterr, const char *format, ...)
{
	int error = errno;
	va_list arguments;
	size_t used;

	if (reterr == NULL)
		return STATUS_PROBLEM;
	memset(reterr, 0, sizeof(*reterr));
	va_start(arguments, format);
	print(reterr->text, sizeof(reterr->text), format, arguments);
	va_end(arguments);
	used = strlen(reterr->text);
	if (snprintf(reterr->text + used, sizeof(reterr->text) - used, ": %s",
		strerrordesc_np(error) == NULL ? "unknown error"
					       : strerrordesc_np(error)) < 0)
		reterr->text[used] = '\0';
	errno = error;
	return STATUS_PROBLEM;
}

int
problem_cure(struct problem *reterr, const char *format, ...)
{
	va_list arguments;

	if (reterr == NULL)
		return STATUS_PROBLEM;
	va_start(arguments, format);
	print(reterr->cure, sizeof(reterr->cure), format, arguments);
	va_end(arguments);
	return STATUS_PROBLEM;
}

void
problems_done(struct problems *problems)
{
	if (problems == NULL)
		return;
	free(problems->list);
	memset(problems, 0, sizeof(*problems));
}

void
problems_add(struct problems *problems, const struct problem *problem)
{
	struct problem *list;

	if (problems->count >= LIMIT_PROBLEMS) {
		problems->dropped++;
		return;
	}
	list = reallocarray(
	    problems->list, problems->count + 1, sizeof(*problems->list));
	if (list == NULL) {
		problems->dropped++;
		return;
	}
	problems->list = list;
	problems->list[problems->count++] = *problem;
}

void
problems_add_in(
    struct problems *problems, const char *file, const struct problem *problem)
{
	struct problem told;

	if (problem->line == 0)
		(void)problem_set(&told, "%s: %s", file, problem->text);
	else
		(void)problem_set(&told, "%s:%u:%u: %s", file, problem->line,
		    problem->column, problem->text);
	if (problem->cure[0] != '\0')
		(void)problem_cure(&told, "%s", problem->cure);
	problems_add(problems, &told);
}

bool
problems_any(const struct problems *problems)
{
	return problems->count > 0 || problems->dropped > 0;
}
