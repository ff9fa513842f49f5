#include "gateway/cli/print.h"

#include "gateway/audit/query.h"
#include "schema/json.h"
#include "schema/visible.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
	NARROWEST = 8, /* a column is not cut further */
	GAP = 2 /* between columns */
};

/* The year 2001: what is less in such a column is a duration. */
#define EARLIEST_US INT64_C(1000000000000000)

/* What a cell shows: safe text, and how many places it takes. */
struct shown {
	char *text;
	size_t width;
	bool is_number;
};

struct print {
	FILE *out;
	enum print_form form;
	size_t columns, rows, room;
	struct shown names[QUERY_COLUMNS_MAX];
	bool moments[QUERY_COLUMNS_MAX]; /* names that end with _us */
	struct shown *cells; /* rows times columns, of a table */
	size_t widths[QUERY_COLUMNS_MAX];
	bool broken; /* no memory, or nobody reads */
};

static bool
show(const struct query_cell *cell, struct shown *ret)
{
	static const char hex[] = "0123456789abcdef";
	size_t size = cell->text.left * VISIBLE_GROWTH + 32;
	struct shown shown = { .text = calloc(1, size) };
	struct cursor_writer out = cursor_writer_of(shown.text, size - 1);

	if (shown.text == NULL)
		return false;
	switch (cell->type) {
	case QUERY_NULL:
		break;
	case QUERY_INTEGER:
		if (cell->number < 0)
			cursor_put_u8(&out, '-');
		cursor_put_decimal(&out, cell->number < 0
					     ? -(uint64_t)cell->number
					     : (uint64_t)cell->number);
		shown.width = out.used;
		shown.is_number = true;
		break;
	case QUERY_REAL:
	case QUERY_TEXT:
		shown.width = visible_put(&out, cell->text);
		shown.is_number = cell->type == QUERY_REAL;
		break;
	case QUERY_BLOB:
		for (size_t i = 0; i < cell->text.left; i++) {
			cursor_put_u8(
			    &out, (uint8_t)hex[cell->text.at[i] >> 4]);
			cursor_put_u8(
			    &out, (uint8_t)hex[cell->text.at[i] & 15]);
		}
		shown.width = out.used;
		break;
	}
	*ret = shown;
	return true;
}

/* For people: a moment as they write it, in UTC. */
static bool
show_moment(int64_t us, struct shown *ret)
{
	time_t seconds = (time_t)(us / 1000000);
	char text[64], day[32];
	struct query_cell cell = { .type = QUERY_TEXT };
	struct tm parts;

	if (gmtime_r(&seconds, &parts) == NULL ||
	    strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &parts) == 0 ||
	    snprintf(text, sizeof(text), "%s.%03d", day,
		(int)(us / 1000 % 1000)) < 0)
		return false;
	cell.text = cursor_of_text(text);
	return show(&cell, ret);
}

static bool
show_in(const struct print *print, size_t column, const struct query_cell *cell,
    struct shown *ret)
{
	if (print->moments[column] && cell->type == QUERY_INTEGER &&
	    cell->number >= EARLIEST_US)
		return show_moment(cell->number, ret);
	return show(cell, ret);
}

/* ---- life ---- */

struct print *
print_new(FILE *out, enum print_form form)
{
	struct print *print = calloc(1, sizeof(*print));

	if (print == NULL)
		return NULL;
	print->out = out;
	print->form = form;
	return print;
}

void
print_free(struct print *print)
{
	if (print == NULL)
		return;
	for (size_t i = 0; i < QUERY_COLUMNS_MAX; i++)
		free(print->names[i].text);
	if (print->form == PRINT_TABLE)
		for (size_t i = 0; i < print->rows * print->columns; i++)
			free(print->cells[i].text);
	free(print->cells);
	free(print);
}

size_t
print_count(const struct print *print)
{
	return print->rows;
}

static bool
ends_in_us(struct cursor name)
{
	return name.left > 3 && memcmp(name.at + name.left - 3, "_us", 3) == 0;
}

void
print_columns(struct print *print, const struct query_cell *names, size_t count)
{
	if (print->columns != 0)
		return; /* the same question again */
	assert(count <= QUERY_COLUMNS_MAX);
	for (size_t i = 0; i < count; i++) {
		if (!show(&names[i], &print->names[i])) {
			print->broken = true;
			return;
		}
		print->widths[i] = print->names[i].width;
		print->moments[i] = ends_in_us(names[i].text);
	}
	print->columns = count;
}

/* ---- rows ---- */

static void
put_json_cell(
    struct json *json, const char *name, const struct query_cell *cell)
{
	char text[64];

	switch (cell->type) {
	case QUERY_NULL:
		json_none(json, name);
		return;
	case QUERY_INTEGER:
		json_number(json, name, cell->number);
		return;
	case QUERY_TEXT:
		json_bytes(json, name, cell->text);
		return;
	case QUERY_REAL:
		/* Infinite numbers are no JSON. */
		if (cell->text.left >= sizeof(text) ||
		    memchr(cell->text.at, 'n', cell->text.left) != NULL) {
			json_none(json, name);
			return;
		}
		memcpy(text, cell->text.at, cell->text.left);
		text[cell->text.left] = '\0';
		json_verbatim(json, name, text);
		return;
	case QUERY_BLOB:
		break;
	}
}

static bool
put_json_blob(
    struct json *json, const char *name, const struct query_cell *cell)
{
	struct shown shown;

	if (!show(cell, &shown))
		return false;
	json_text(json, name, shown.text);
	free(shown.text);
	return true;
}

static bool
print_json(struct print *print, const struct query_cell *cells)
{
	size_t size = 64;
	struct cursor_writer out;
	struct json json;
	bool well = true;
	char *text;

	for (size_t i = 0; i < print->columns; i++)
		size +=
		    6 * (cells[i].text.left + strlen(print->names[i].text)) +
		    64;
	text = calloc(1, size);
	if (text == NULL)
		return false;
	out = cursor_writer_of(text, size - 1);
	json = json_to(&out);
	json_open(&json, NULL, '{');
	for (size_t i = 0; i < print->columns && well; i++) {
		if (cells[i].type == QUERY_BLOB)
			well = put_json_blob(
			    &json, print->names[i].text, &cells[i]);
		else
			put_json_cell(&json, print->names[i].text, &cells[i]);
	}
	json_close(&json, '}');
	well = well && cursor_written(&out) &&
	       fprintf(print->out, "%s%s%s",
		   print->form == PRINT_JSON_LINES ? ""
		   : print->rows == 0		   ? "["
						   : ",",
		   text, print->form == PRINT_JSON_LINES ? "\n" : "") >= 0;
	free(text);
	return well;
}

static bool
print_record(struct print *print, const struct query_cell *cells)
{
	size_t widest = 0;

	for (size_t i = 0; i < print->columns; i++)
		if (print->names[i].width > widest)
			widest = print->names[i].width;
	if (print->rows > 0 && fputc('\n', print->out) == EOF)
		return false;
	for (size_t i = 0; i < print->columns; i++) {
		struct shown shown;
		bool well;

		if (cells[i].type == QUERY_NULL)
			continue;
		if (!show_in(print, i, &cells[i], &shown))
			return false;
		well = fprintf(print->out, "%-*s  %s\n", (int)widest,
			   print->names[i].text, shown.text) >= 0;
		free(shown.text);
		if (!well)
			return false;
	}
	return true;
}

static bool
pad(FILE *out, size_t count)
{
	for (; count > 0; count--)
		if (fputc(' ', out) == EOF)
			return false;
	return true;
}

/* Each value as wide as the widest of its column so far. */
static bool
print_line(struct print *print, const struct query_cell *cells)
{
	for (size_t i = 0; i < print->columns; i++) {
		bool last = i + 1 == print->columns, well;
		struct shown shown;

		if (!show_in(print, i, &cells[i], &shown))
			return false;
		if (print->rows == 0 || shown.width > print->widths[i])
			print->widths[i] = shown.width;
		well = fputs(shown.text, print->out) >= 0 &&
		       (last ? fputc('\n', print->out) != EOF
			     : pad(print->out,
				   print->widths[i] - shown.width + GAP));
		free(shown.text);
		if (!well)
			return false;
	}
	return true;
}

static bool
keep_row(struct print *print, const struct query_cell *cells)
{
	size_t room = print->room == 0 ? 64 : print->room * 2;
	struct shown *row, *grown;

	if (print->rows == print->room) {
		grown = reallocarray(
		    print->cells, room * print->columns, sizeof(*grown));
		if (grown == NULL)
			return false;
		print->cells = grown;
		print->room = room;
	}
	row = print->cells + print->rows * print->columns;
	for (size_t i = 0; i < print->columns; i++) {
		if (!show_in(print, i, &cells[i], &row[i])) {
			while (i > 0)
				free(row[--i].text);
			return false;
		}
		if (row[i].width > print->widths[i])
			print->widths[i] = row[i].width;
	}
	return true;
}

bool
print_row(struct print *print, const struct query_cell *cells, size_t count)
{
	bool well = !print->broken && count == print->columns && count > 0;

	if (!well)
		return false;
	switch (print->form) {
	case PRINT_TABLE:
		well = keep_row(print, cells);
		break;
	case PRINT_RECORD:
		well = print_record(print, cells);
		break;
	case PRINT_LINES:
		well = print_line(print, cells);
		break;
	case PRINT_JSON_LINES:
	case PRINT_JSON_ARRAY:
		well = print_json(print, cells);
		break;
	}
	if (well)
		print->rows++;
	else
		print->broken = true;
	return well;
}

/* ---- the table ---- */

static size_t
total_width(const struct print *print)
{
	size_t total = 0;

	for (size_t i = 0; i < print->columns; i++)
		total += print->widths[i] + (i > 0 ? GAP : 0);
	return total;
}

/* Takes from the widest column until the table fits; 0 is no limit. */
static void
fit(struct print *print, size_t limit)
{
	size_t total = total_width(print);

	while (limit > 0 && total > limit) {
		size_t widest = 0;

		for (size_t i = 1; i < print->columns; i++)
			if (print->widths[i] > print->widths[widest])
				widest = i;
		if (print->widths[widest] <= NARROWEST)
			return;
		print->widths[widest]--;
		total--;
	}
}

/* The first places of a text, and a mark that there was more. */
static bool
print_cut(FILE *out, const struct shown *shown, size_t width)
{
	struct cursor text = cursor_of_text(shown->text);
	const char *start = shown->text;
	uint32_t character;

	for (size_t i = 0; i + 1 < width; i++)
		if (!visible_take(&text, &character))
			break;
	return fprintf(out, "%.*s…", (int)((const char *)text.at - start),
		   start) >= 0;
}

static bool
print_cells(struct print *print, const struct shown *row)
{
	for (size_t i = 0; i < print->columns; i++) {
		const struct shown *shown = &row[i];
		size_t width = print->widths[i];
		size_t blank = shown->width < width ? width - shown->width : 0;
		bool last = i + 1 == print->columns;

		if ((shown->is_number && !pad(print->out, blank)) ||
		    (shown->width > width ? !print_cut(print->out, shown, width)
					  : fputs(shown->text, print->out) < 0))
			return false;
		if (!last &&
		    !pad(print->out, GAP + (shown->is_number ? 0 : blank)))
			return false;
	}
	return fputc('\n', print->out) != EOF;
}

static size_t
terminal_width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

static bool
print_table(struct print *print)
{
	if (print->rows == 0)
		return true;
	fit(print, terminal_width(print->out));
	if (!print_cells(print, print->names))
		return false;
	for (size_t i = 0; i < print->rows; i++)
		if (!print_cells(print, print->cells + i * print->columns))
			return false;
	return true;
}

bool
print_end(struct print *print)
{
	if (!print->broken && print->form == PRINT_TABLE)
		print->broken = !print_table(print);
	if (!print->broken && print->form == PRINT_JSON_ARRAY)
		print->broken =
		    fputs(print->rows == 0 ? "[]" : "]", print->out) < 0;
	if (fflush(print->out) != 0)
		print->broken = true;
	return !print->broken;
}
