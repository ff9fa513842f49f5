#include "gateway/cli/export.h"

#include "gateway/audit/entry.h"
#include "gateway/audit/export_cef.h"
#include "gateway/audit/export_ecs.h"
#include "gateway/audit/export_ocsf.h"
#include "gateway/audit/shelf.h"
#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "gateway/cli/outlet.h"
#include "gateway/cli/print.h"
#include "gateway/cli/syslog.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* One read of the file is short, so that its writer is not held back.
	 */
	PAGE_ROWS = 5000,
	FOLLOW_MS = 200 /* between looks for new rows */
};

static const char view_page[] = "SELECT * FROM v_event WHERE seq > :after AND "
				"ts_us >= :since ORDER BY seq LIMIT :limit";

struct format;

struct export
{
	const struct format *format;
	struct print *lines; /* of JSON lines */
	struct outlet *outlet; /* of what is built here */
	struct syslog_target syslog;
	int64_t after; /* the last row that was printed */
	int64_t segment; /* the one it is of */
	size_t count; /* rows of this page */
	bool named; /* the columns were printed */
	struct problem problem; /* of syslog */
};

struct format {
	const char *name;
	const char *page;
	/* False when nothing more can be written. */
	bool (*put)(struct export *export, const struct query_cell *cells,
	    size_t count);
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

/* ---- one row in each format ---- */

static bool
put_line(struct export *export, const struct query_cell *cells, size_t count)
{
	return print_row(export->lines, cells, count);
}

static bool
put_csv(struct export *export, const struct query_cell *cells, size_t count)
{
	(void)export;
	put_row(cells, count);
	return ferror(stdout) == 0;
}

/* A row has less than a piece: its texts are bounded when they are written. */
static bool
end_line(struct export *export)
{
	cursor_put_u8(&export->outlet->out, '\n');
	if (!cursor_written(&export->outlet->out))
		return false;
	outlet_flush(export->outlet);
	export->outlet->json = json_to(&export->outlet->out);
	return ferror(stdout) == 0;
}

static bool
put_ocsf(struct export *export, const struct query_cell *cells, size_t count)
{
	(void)count;
	export_ocsf(cells, EXEAT_VERSION, &export->outlet->json);
	return end_line(export);
}

static bool
put_ecs(struct export *export, const struct query_cell *cells, size_t count)
{
	(void)count;
	export_ecs(cells, EXEAT_VERSION, &export->outlet->json);
	return end_line(export);
}

static bool
put_cef(struct export *export, const struct query_cell *cells, size_t count)
{
	struct cursor_writer *out = &export->outlet->out;

	(void)count;
	if (!entry_is_alert(cells))
		return true;
	export_cef(cells, EXEAT_VERSION, out);
	if (export->syslog.fd < 0)
		return end_line(export);
	if (!cursor_written(out) ||
	    syslog_send(&export->syslog, entry_text(cells, ENTRY_AT),
		cursor_of(out->bytes, out->used),
		entry_kind(cells) == EVENT_ALERT,
		&export->problem) != STATUS_OK)
		return false;
	*out = cursor_writer_of(export->outlet->bytes, OUTLET_PIECE);
	return true;
}

static const struct format formats[] = {
	{ "jsonl", view_page, put_line },
	{ "csv", view_page, put_csv },
	{ "ocsf", entry_page, put_ocsf },
	{ "ecs", entry_page, put_ecs },
	{ "cef", entry_page, put_cef },
};

/* ---- pages ---- */

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	struct export *export = arg;

	if (export->lines != NULL)
		print_columns(export->lines, names, count);
	else if (!export->named && export->format->put == put_csv)
		put_row(names, count);
	export->named = true;
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct export *export = arg;

	if (!export->format->put(export, cells, count))
		return false;
	export->after = cells[0].number;
	export->count++;
	return true;
}

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return STATUS_PROBLEM;
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
	if (query_run(query, export->format->page, &values, &reader, &cut,
		&problem) != STATUS_OK)
		return complain(&problem);
	if (export->problem.text[0] != '\0')
		return complain(&export->problem);
	return STATUS_OK;
}

/* False when nobody reads us any more. */
static bool
wait_for_rows(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, FOLLOW_MS) <= 0 ||
	       (out.revents & (POLLERR | POLLHUP)) == 0;
}

static int
print_pages(struct query *query, struct inquiry *inquiry, struct export *export)
{
	int status;

	do {
		status = print_page(query, inquiry, export);
		if (status != STATUS_OK)
			return status;
		if (fflush(stdout) != 0 || ferror(stdout) != 0)
			return STATUS_SYSTEM;
	} while (export->count == PAGE_ROWS);
	return STATUS_OK;
}

/* Segment by segment, from the one that was reached. */
static int
print_segments(
    struct query *query, struct inquiry *inquiry, struct export *export)
{
	const struct shelf *shelf = query_shelf(query);
	int status = STATUS_OK;

	for (size_t i = 0; i < shelf->count && status == STATUS_OK; i++) {
		struct query *segment;
		struct problem problem;

		if (shelf->numbers[i] < export->segment)
			continue;
		if (query_segment(query, i, &segment, &problem) != STATUS_OK)
			return complain(&problem);
		status = print_pages(segment, inquiry, export);
		query_close(segment);
		export->segment = shelf->numbers[i];
	}
	return status;
}

static int
print_all(struct query *query, struct inquiry *inquiry, struct export *export)
{
	struct problem problem;
	struct query *ours = NULL;
	int status;

	if (query_open(query_audit(query), &ours, &problem) != STATUS_OK)
		return complain(&problem);
	for (;;) {
		status = print_segments(ours, inquiry, export);
		if (status != STATUS_OK || !inquiry->follow || !wait_for_rows())
			break;
		if (query_renew(&ours, &problem) != STATUS_OK) {
			status = complain(&problem);
			break;
		}
	}
	query_close(ours);
	return status;
}

/* ---- the command ---- */

static const struct format *
find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	(void)fprintf(stderr,
	    "exeat: --format is jsonl, csv, ocsf, ecs or cef, not "
	    "\"%.40s\"\n",
	    name);
	return NULL;
}

static int
begin(struct export *export, const struct inquiry *inquiry)
{
	struct problem problem;

	export->format =
	    find_format(inquiry->format == NULL ? "jsonl" : inquiry->format);
	if (export->format == NULL)
		return STATUS_PROBLEM;
	if (inquiry->to != NULL && export->format->put != put_cef) {
		(void)fprintf(stderr,
		    "exeat: --to sends alerts; it goes with --format cef\n");
		return STATUS_PROBLEM;
	}
	export->outlet = outlet_new();
	if (export->format->put == put_line)
		export->lines = print_new(stdout, PRINT_JSON_LINES);
	if (export->outlet == NULL ||
	    (export->format->put == put_line && export->lines == NULL))
		return STATUS_NO_MEMORY;
	if (inquiry->to != NULL &&
	    syslog_open(inquiry->to, &export->syslog, &problem) != STATUS_OK)
		return complain(&problem);
	return STATUS_OK;
}

int
export_rows(struct query *query, struct inquiry *inquiry)
{
	struct export export = { .syslog = { .fd = -1 } };
	int status = begin(&export, inquiry);

	if (status == STATUS_OK)
		status = print_all(query, inquiry, &export);
	if (export.lines != NULL && !print_end(export.lines))
		status = STATUS_SYSTEM;
	print_free(export.lines);
	free(export.outlet);
	syslog_close(&export.syslog);
	if (fflush(stdout) != 0 || ferror(stdout) != 0)
		status = STATUS_SYSTEM;
	return status == STATUS_OK ? COMMAND_OK : COMMAND_FAILED;
}
