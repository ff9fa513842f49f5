#include "policy/report.h"

#include "schema/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Text of the document is quoted in these sentences, and a terminal is where
 * they are read: nothing of it may be an order to the terminal.
 */
static void
tame(char *text)
{
	unsigned char before = 0;

	for (size_t i = 0; text[i] != '\0'; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f)
			text[i] = '?';
		/* U+0080 to U+009F are orders too. */
		if (before == 0xc2 && byte < 0xa0)
			text[i - 1] = text[i] = '?';
		before = byte;
	}
}

static void fill(struct problem *problem, const char *cure, const char *format,
    va_list arguments) PRINTF_LIKE(3, 0);

static void
fill(struct problem *problem, const char *cure, const char *format,
    va_list arguments)
{
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller's */
	if (vsnprintf(problem->text, sizeof(problem->text), format, arguments) <
	    0)
		problem->text[0] = '\0';
	if (snprintf(problem->cure, sizeof(problem->cure), "%s", cure) < 0)
		problem->cure[0] = '\0';
	tame(problem->text);
	tame(problem->cure);
}

/* Looking for the place costs a walk through the text. */
static bool
is_heard(const struct report *report)
{
	return report->problems->count < LIMIT_PROBLEMS;
}

static void
put(const struct report *report, const struct place *place, bool found,
    const struct located *located, struct problem *problem)
{
	place_print(place, problem->path, sizeof(problem->path));
	tame(problem->path);
	if (found) {
		problem->line = located->line;
		problem->column = located->column;
	}
	problems_add(report->problems, problem);
}

void
report_add(const struct report *report, const struct place *place,
    const char *cure, const char *format, ...)
{
	struct problem problem = { .line = 0 };
	struct located located = { 0 };
	va_list arguments;
	bool found = is_heard(report) && locate(report->text, place, &located);

	va_start(arguments, format);
	fill(&problem, cure, format, arguments);
	va_end(arguments);
	put(report, place, found, &located, &problem);
}

void
report_key(const struct report *report, const struct place *place,
    const char *cure, const char *format, ...)
{
	struct problem problem = { .line = 0 };
	struct located located = { 0 };
	va_list arguments;
	bool found =
	    is_heard(report) && locate_key(report->text, place, &located);

	va_start(arguments, format);
	fill(&problem, cure, format, arguments);
	va_end(arguments);
	put(report, place, found, &located, &problem);
}

void
report_at(const struct report *report, unsigned line, unsigned column,
    const char *format, ...)
{
	struct problem problem = { .line = line, .column = column };
	va_list arguments;

	va_start(arguments, format);
	fill(&problem, "", format, arguments);
	va_end(arguments);
	problems_add(report->problems, &problem);
}

void
report_no_memory(const struct report *report)
{
	report_at(report, 0, 0, "there is not enough memory to read this");
}

size_t
report_count(const struct report *report)
{
	return report->problems->count + report->problems->dropped;
}

static int
compare_problems(const void *a, const void *b)
{
	const struct problem *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return strcmp(x->text, y->text);
}

void
report_sort(struct problems *problems)
{
	if (problems->count > 1)
		qsort(problems->list, problems->count, sizeof(*problems->list),
		    compare_problems);
}
