#include "gateway/cli/reply.h"

#include "gateway/audit/across.h"
#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>

int
reply_failed(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return COMMAND_FAILED;
}

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	print_columns(arg, names, count);
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	return print_row(arg, cells, count);
}

static void
tell_cut(bool cut)
{
	if (cut)
		(void)fprintf(stderr,
		    "exeat: only the first %d rows are shown\n",
		    LIMIT_QUERY_ROWS);
}

/* What print holds after status; takes print. */
static int
end_print(struct print *print, int status, const struct problem *problem)
{
	int code = COMMAND_FAILED;

	if (status != STATUS_OK)
		(void)reply_failed(problem);
	else if (print_end(print))
		code = print_count(print) > 0 ? COMMAND_OK : COMMAND_NO;
	print_free(print);
	return code;
}

int
reply_print(struct query *query, const struct question *question,
    const struct inquiry *inquiry, struct print *print, struct problem *reterr)
{
	struct query_reader reader = { on_columns, on_row, print };
	struct query_values values = { inquiry->values, inquiry->value_count };
	bool cut = false;
	int status =
	    across_ask(query, question, &values, &reader, &cut, reterr);

	if (status == STATUS_OK)
		tell_cut(cut);
	return status;
}

int
reply_print_views(struct query *query, const char *sql,
    const struct inquiry *inquiry, struct print *print, struct problem *reterr)
{
	struct query_reader reader = { on_columns, on_row, print };
	struct query_values values = { inquiry->values, inquiry->value_count };
	bool cut = false;
	int status = query_run(query, sql, &values, &reader, &cut, reterr);

	if (status == STATUS_OK)
		tell_cut(cut);
	return status;
}

int
reply_question(struct query *query, const struct question *question,
    const struct inquiry *inquiry, enum print_form form)
{
	struct print *print =
	    print_new(stdout, inquiry->json ? PRINT_JSON_LINES : form);
	struct problem problem;

	if (print == NULL)
		return COMMAND_FAILED;
	return end_print(print,
	    reply_print(query, question, inquiry, print, &problem), &problem);
}

int
reply_views(struct query *query, const char *sql, const struct inquiry *inquiry,
    enum print_form form)
{
	struct print *print =
	    print_new(stdout, inquiry->json ? PRINT_JSON_LINES : form);
	struct problem problem;

	if (print == NULL)
		return COMMAND_FAILED;
	return end_print(print,
	    reply_print_views(query, sql, inquiry, print, &problem), &problem);
}
