#include "gateway/audit/markup.h"

#include "gateway/audit/query.h"
#include "schema/visible.h"

#include <inttypes.h>
#include <string.h>

enum {
	PIECE = 256 /* bytes that are made safe at a time */
};

void
markup_raw(FILE *out, const char *text)
{
	(void)fputs(text, out);
}

static void
put_escaped(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		switch (text[i]) {
		case '&':
			(void)fputs("&amp;", out);
			break;
		case '<':
			(void)fputs("&lt;", out);
			break;
		case '>':
			(void)fputs("&gt;", out);
			break;
		case '"':
			(void)fputs("&quot;", out);
			break;
		case '\'':
			(void)fputs("&#39;", out);
			break;
		default:
			(void)fputc(text[i], out);
		}
	}
}

/* The end of a piece may not cut a character in two. */
static size_t
piece_of(struct cursor text)
{
	size_t length = text.left < PIECE ? text.left : PIECE;

	if (length < text.left)
		for (int back = 0;
		     back < 3 && length > 1 && (text.at[length] & 0xc0) == 0x80;
		     back++)
			length--;
	return length;
}

void
markup_text(FILE *out, struct cursor text)
{
	char safe[PIECE * VISIBLE_GROWTH];

	while (text.left > 0) {
		size_t length = piece_of(text);
		struct cursor_writer writer =
		    cursor_writer_of(safe, sizeof(safe));

		(void)visible_put(&writer, cursor_of(text.at, length));
		put_escaped(out, safe, writer.used);
		text.at += length;
		text.left -= length;
	}
}

void
markup_cell(FILE *out, const struct query_cell *cell)
{
	switch (cell->type) {
	case QUERY_NULL:
	case QUERY_BLOB:
		return;
	case QUERY_INTEGER:
		markup_count(out, cell->number);
		return;
	case QUERY_REAL:
	case QUERY_TEXT:
		markup_text(out, cell->text);
		return;
	}
}

void
markup_count(FILE *out, int64_t count)
{
	char digits[32];
	size_t length;

	if (count < 0) {
		(void)fprintf(out, "%" PRId64, count);
		return;
	}
	length = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, count);
	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			(void)fputc(',', out);
		(void)fputc(digits[i], out);
	}
}

void
markup_bytes(FILE *out, int64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB" };
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1000) {
		(void)fprintf(out, "%" PRId64 " B", bytes);
		return;
	}
	value /= 1000;
	while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		value /= 1000;
		unit++;
	}
	(void)fprintf(out, "%.*f %s", value < 10 ? 1 : 0, value, units[unit]);
}
