#include "gateway/cli/print.h"

#include "gateway/audit/query.h"
#include "schema/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	NARROWEST = 8, /* a column is not cut further */
	GAP = 2, /* between columns */
	LONGEST_ESCAPE = 4 /* bytes that one byte can become */
};

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
	struct shown *cells; /* rows times columns, of a table */
	size_t widths[QUERY_COLUMNS_MAX];
	bool broken; /* no memory, or nobody reads */
};

/* ---- text that is safe to show ---- */

/* One UTF-8 sequence (RFC 3629), or false and the cursor stays. */
static bool
take_character(struct cursor *from, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	struct cursor at = *from;
	uint32_t character;
	uint8_t first, next;
	size_t more;

	if (!cursor_u8(&at, &first) || (first >= 0x80 && first < 0xc2) ||
	    first > 0xf4)
		return false;
	more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
	character = more == 0 ? first : first & (0x3fU >> more);
	for (size_t i = 0; i < more; i++) {
		if (!cursor_u8(&at, &next) || (next & 0xc0) != 0x80)
			return false;
		character = character << 6 | (next & 0x3fU);
	}
	if (character < least[more] || character > 0x10ffff ||
	    (character >= 0xd800 && character < 0xe000))
		return false;
	*from = at;
	*ret = character;
	return true;
}

/*
 * Controls of both kinds, line separators, and what turns the direction of
 * text (Unicode bidirectional formatting) or has no width.
 */
static bool
is_plain(uint32_t character)
{
	static const struct {
		uint32_t low, high;
	} hidden[] = {
		{ 0x00, 0x1f },
		{ 0x7f, 0x9f },
		{ 0xad, 0xad },
		{ 0x61c, 0x61c },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (character >= hidden[i].low && character <= hidden[i].high)
			return false;
	return true;
}

static void
put_hex(struct cursor_writer *out, uint32_t value, int digits)
{
	static const char hex[] = "0123456789abcdef";

	while (digits-- > 0)
		cursor_put_u8(out, (uint8_t)hex[(value >> (4 * digits)) & 15]);
}

static void
put_escape(struct cursor_writer *out, uint32_t character)
{
	cursor_put_text(out, character > 0xffff ? "\\U" : "\\u");
	put_hex(out, character, character > 0xffff ? 6 : 4);
}

/* Writes text so that it moves no cursor; gives the places it takes. */
static size_t
put_safe(struct cursor_writer *out, struct cursor text)
{
	size_t start = out->used, inside = 0;

	while (!cursor_is_empty(&text)) {
		struct cursor before = text;
		uint32_t character;
		uint8_t byte;
		bool known = take_character(&text, &character);

		if (known && is_plain(character)) {
			cursor_put(out, before.at, before.left - text.left);
			inside += before.left - text.left - 1;
		} else if (known && character > 0xff) {
			put_escape(out, character);
		} else {
			/* Byte by byte, however many it has. */
			text = before;
			if (!cursor_u8(&text, &byte))
				break;
			cursor_put_text(out, "\\x");
			put_hex(out, byte, 2);
		}
	}
	return out->used - start - inside;
}

static bool
show(const struct query_cell *cell, struct shown *ret)
{
	size_t size = cell->text.left * LONGEST_ESCAPE + 32;
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
		shown.width = put_safe(&out, cell->text);
		shown.is_number = cell->type == QUERY_REAL;
		break;
	case QUERY_BLOB:
		for (size_t i = 0; i < cell->text.left; i++)
			put_hex(&out, cell->text.at[i], 2);
		shown.width = out.used;
		break;
	}
	*ret = shown;
	return true;
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
		if (!show(&cells[i], &shown))
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

		if (!show(&cells[i], &shown))
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
		if (!show(&cells[i], &row[i])) {
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
		if (!take_character(&text, &character))
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
