#include "gateway/cli/showing.h"

#include "schema/cursor.h"
#include "schema/visible.h"

#include <string.h>

#define PIECE 1024

/* In pieces that do not cut a character where that can be helped. */
static void
show(FILE *out, struct cursor text)
{
	unsigned char room[PIECE * VISIBLE_GROWTH];

	while (text.left > 0) {
		struct cursor_writer writer =
		    cursor_writer_of(room, sizeof(room));
		struct cursor piece = text;
		size_t length = text.left < PIECE ? text.left : PIECE;

		while (length < text.left && length > PIECE - 4 &&
		       (text.at[length] & 0xc0) == 0x80)
			length--;
		if (!cursor_take(&text, length, &piece))
			return;
		(void)visible_put(&writer, piece);
		(void)fwrite(room, 1, writer.used, out);
	}
}

void
showing_path(FILE *out, const char *path)
{
	show(out, cursor_of_text(path));
}

void
showing_line(FILE *out, const char *line, size_t length)
{
	struct cursor in = cursor_of(line, length), word;

	while (cursor_until(&in, '\t', &word)) {
		show(out, word);
		(void)fputc('\t', out);
	}
	show(out, in);
}
