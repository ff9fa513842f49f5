#include "gateway/cli/export.h"

#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "gateway/cli/print.h"
#include "schema/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* One read of the file is short, so that its writer is not held back. */
#define PAGE_ROWS 5000
static const char page[] = "SELECT * FROM v_event WHERE seq > :after AND "
			   "ts_us >= :since ORDER BY seq LIMIT :limit";

struct export
{
	struct print *lines; /* NULL: CSV */
	int64_t after; /* the last row that was printed */
	size_t count; /* rows of this page */
	bool named; /* the columns were printed */
};

/* ---- CSV ---- */

static void
put_hex(struct cursor bytes)
{
	for (size_t i = 0; i < bytes.left; i++)
		(void)printf("%02x", (unsigned)bytes.at[i]);
}

static void
put_text(struct cursor text)
{
	static const char formula[] = "=+-@\t\r";

	(void)putchar('"');
	if (text.left > 0 && text.at[0] != '\0' &&
	    strchr(formula, text.at[0]) != NULL)
		(void)putchar('\'');
	for (size_t i = 0; i < text.left; i++) {
		if (text.at[i] == '"')
			(void)putchar('"');
		(void)putchar(text.at[i]);
	}
	(void)putchar('"');
}

static void
put_cell(const struct query_cell *cell)
{
	switch (cell->type) {
	case QUERY_NULL:
		return;
	case QUERY_INTEGER:
		(void)printf("%" PRId64, cell->number);
		return;
	case QUERY_REAL:
		(void)fwrite(cell->text.at, cell->text.left, 1, stdout);
		return;
	case QUERY_TEXT:
		put_text(cell->text);
		return;
	case QUERY_BLOB:
		put_hex(cell->text);
		return;
	}
}

static void
put_row(const struct query_cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			(void)putchar(',');
		put_cell(&cells[i]);
	}
	(void)fputs("\r\n", stdout);
}

/* ---- pages ---- */

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	struct export *export = arg;

	if (export->lines != NULL)
		print_columns(export->lines, names, count);
	else if (!export->named)
		put_row(names, count);
	export->named = true;
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct export *export = arg;

	export->after = cells[0].number;
	export->count++;
	if (export->lines != NULL)
		return print_row(export->lines, cells, count);
	put_row(cells, count);
	return ferror(stdout) == 0;
}

static int
print_page(struct query *query, struct inquiry *inquiry, struct export *export)
{
	struct query_reader reader = { on_columns, on_row, export };
	struct query_values values = { .list = inquiry->values };
	struct problem problem;
	bool cut;

	inquiry->value_count = 0;
	inquiry_add_number(inquiry, "after", export->after);
	inquiry_add_number(inquiry, "since", inquiry->since_us);
	inquiry_add_number(inquiry, "limit", PAGE_ROWS);
	values.count = inquiry->value_count;
	export->count = 0;
	if (query_run(query, page, &values, &reader, &cut, &problem) ==
	    STATUS_OK)
		return STATUS_OK;
	(void)fprintf(stderr, "exeat: %s\n", problem.text);
	return STATUS_PROBLEM;
}

int
export_rows(struct query *query, struct inquiry *inquiry)
{
	struct export export = { .after = 0 };
	const char *format =
	    inquiry->format == NULL ? "jsonl" : inquiry->format;
	int status;

	if (strcmp(format, "jsonl") != 0 && strcmp(format, "csv") != 0) {
		(void)fprintf(stderr,
		    "exeat: --format is jsonl or csv, not \"%.40s\"\n", format);
		return COMMAND_FAILED;
	}
	if (strcmp(format, "jsonl") == 0) {
		export.lines = print_new(stdout, PRINT_JSON_LINES);
		if (export.lines == NULL)
			return COMMAND_FAILED;
	}
	do
		status = print_page(query, inquiry, &export);
	while (status == STATUS_OK && export.count == PAGE_ROWS &&
	       ferror(stdout) == 0);
	if (export.lines != NULL && !print_end(export.lines))
		status = STATUS_SYSTEM;
	print_free(export.lines);
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		status = STATUS_SYSTEM;
	return status == STATUS_OK ? COMMAND_OK : COMMAND_FAILED;
}
