#include "gateway/audit/grid.h"

#include "gateway/audit/markup.h"
#include "schema/cursor.h"
#include "schema/reason.h"

#include <inttypes.h>
#include <string.h>

/* How a column is shown. */
enum look {
	LOOK_TEXT,
	LOOK_CODE,
	LOOK_COUNT,
	LOOK_BYTES,
	LOOK_BAR, /* per cent */
	LOOK_MARK,
	LOOK_REASON, /* the id, and its words */
	LOOK_INDENT, /* a level, for the column behind it */
	LOOK_MANY
};

static const char *const looks[LOOK_MANY] = { "text", "code", "count", "bytes",
	"bar", "mark", "reason", "indent" };

static enum look
look_of(struct cursor name, struct cursor *ret_heading)
{
	for (unsigned look = 0; look < LOOK_MANY; look++) {
		size_t length = strlen(looks[look]);

		if (name.left <= length || name.at[length] != ':' ||
		    memcmp(name.at, looks[look], length) != 0)
			continue;
		*ret_heading =
		    cursor_of(name.at + length + 1, name.left - length - 1);
		return (enum look)look;
	}
	*ret_heading = name;
	return LOOK_TEXT;
}

static bool
is_number(enum look look)
{
	return look == LOOK_COUNT || look == LOOK_BYTES;
}

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	struct grid *grid = arg;

	grid->columns = count;
	(void)fprintf(grid->out,
	    "<section id=\"%s\" tabindex=\"-1\"><h2>%s</h2><div "
	    "class=\"wide\"><table><thead><tr>",
	    grid->id, grid->title);
	for (size_t i = 0; i < count; i++) {
		struct cursor heading;

		grid->looks[i] = look_of(names[i].text, &heading);
		if (grid->looks[i] == LOOK_INDENT)
			continue;
		markup_raw(
		    grid->out, is_number(grid->looks[i])
				   ? "<th scope=\"col\" class=\"number\">"
				   : "<th scope=\"col\">");
		markup_text(grid->out, heading);
		markup_raw(grid->out, "</th>");
	}
	markup_raw(grid->out, "</tr></thead><tbody>\n");
}

static void
put_reason(FILE *out, struct cursor id)
{
	size_t count;
	const struct reason_entry *entries = reason_entries(&count);

	markup_text(out, id);
	for (size_t i = 0; i < count; i++)
		if (strlen(entries[i].id) == id.left &&
		    memcmp(entries[i].id, id.at, id.left) == 0)
			(void)fprintf(
			    out, "<small>%s</small>", entries[i].title);
}

static void
put_plain(FILE *out, const struct query_cell *cell)
{
	if (cell->type == QUERY_INTEGER)
		(void)fprintf(out, "%" PRId64, cell->number);
	else
		markup_cell(out, cell);
}

static double
percent_of(const struct query_cell *cell)
{
	/* The SQL makes it between 0 and 100, with a point. */
	struct cursor text = cell->text;
	uint64_t whole = 0;

	if (cell->type != QUERY_REAL || !cursor_decimal(&text, 100, &whole))
		return 0;
	return (double)whole;
}

static void
put_cell(struct grid *grid, size_t at, const struct query_cell *cell)
{
	FILE *out = grid->out;

	switch (grid->looks[at]) {
	case LOOK_COUNT:
		markup_raw(out, "<td class=\"number\">");
		markup_cell(out, cell);
		break;
	case LOOK_BYTES:
		markup_raw(out, "<td class=\"number\">");
		if (cell->type == QUERY_INTEGER)
			markup_bytes(out, cell->number);
		break;
	case LOOK_BAR:
		(void)fprintf(out,
		    "<td class=\"meter\"><span style=\"width:%.0f%%\"></span>",
		    percent_of(cell));
		break;
	case LOOK_MARK:
		markup_raw(out, "<td>");
		if (cell->type == QUERY_NULL)
			break;
		markup_raw(out, "<span class=\"mark\">");
		markup_cell(out, cell);
		markup_raw(out, "</span>");
		break;
	case LOOK_REASON:
		markup_raw(out, "<td>");
		put_reason(out, cell->text);
		break;
	case LOOK_CODE:
		(void)fprintf(out,
		    "<td class=\"code\"><code style=\"padding-left:%" PRId64
		    "em\">",
		    2 * grid->level);
		put_plain(out, cell);
		markup_raw(out, "</code>");
		grid->level = 0;
		break;
	case LOOK_INDENT:
		grid->level = cell->number;
		return;
	case LOOK_TEXT:
	case LOOK_MANY:
		markup_raw(out, "<td>");
		put_plain(out, cell);
		break;
	}
	markup_raw(out, "</td>");
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct grid *grid = arg;

	grid->rows++;
	markup_raw(grid->out, "<tr>");
	for (size_t i = 0; i < count; i++)
		put_cell(grid, i, &cells[i]);
	markup_raw(grid->out, "</tr>\n");
	return ferror(grid->out) == 0;
}

struct query_reader
grid_reader(struct grid *grid)
{
	return (struct query_reader){ on_columns, on_row, grid };
}

void
grid_end(const struct grid *grid)
{
	if (grid->rows == 0)
		(void)fprintf(grid->out,
		    "<tr><td colspan=\"%zu\">none</td></tr>", grid->columns);
	markup_raw(grid->out, "</tbody></table></div></section>\n");
}
