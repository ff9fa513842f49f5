#include "gateway/proto/excerpt.h"

#include "gateway/proto/header.h"
#include "schema/limits.h"
#include "schema/visible.h"

enum {
	BARE = 8, /* bytes of what may be anything */
	ASTRAY = 16, /* where a line is long enough to show so many of it */
	NAME = 40, /* of a field, of a method */
	VALUE = 64, /* of a field about framing */
	PATH = 112,
	LENGTH = 32, /* "[12 bytes]" */
	LINE = VISIBLE_GROWTH * (PATH + VALUE) + 2 * LENGTH
};

static_assert(LIMIT_EXCERPT > LINE + LENGTH, "a line always fits");
static_assert(PATH >= NAME + VALUE, "a field is no longer than a start line");

/* Whom a message is for, where it ends, and what it wants to become. */
static const char *const shown[] = { "Host", "Content-Length",
	"Transfer-Encoding", "TE", "Trailer", "Connection", "Upgrade", "Expect",
	"Content-Type" };

static void
put_length(struct cursor_writer *out, size_t length)
{
	if (length == 0)
		return;
	cursor_put_text(out, "[");
	cursor_put_decimal(out, length);
	cursor_put_text(out, length == 1 ? " byte]" : " bytes]");
}

/* The first bytes of it, and how much more there was. */
static void
put_first(struct cursor_writer *out, struct cursor text, size_t most)
{
	size_t length = text.left < most ? text.left : most;

	(void)visible_put(out, cursor_of(text.at, length));
	put_length(out, text.left - length);
}

/* Takes what stands before the first of these bytes, or all. */
static struct cursor
take_before(struct cursor *text, struct cursor ends)
{
	struct cursor taken = { .at = text->at };
	bool ended = false;

	while (!ended && taken.left < text->left) {
		for (size_t i = 0; i < ends.left; i++)
			ended = ended || text->at[taken.left] == ends.at[i];
		taken.left += ended ? 0 : 1;
	}
	text->at += taken.left;
	text->left -= taken.left;
	return taken;
}

static struct cursor
take_until(struct cursor *text, const char *ends)
{
	return take_before(text, cursor_of_text(ends));
}

/* "GET /", "CONNECT " or "HTTP/", which is no tail of something else. */
static bool
is_start(struct cursor line)
{
	struct cursor rest = line, word = take_until(&rest, " ");

	if (cursor_literal(&line, "HTTP/") || cursor_literal(&line, "CONNECT "))
		return true;
	for (size_t i = 0; i < word.left; i++)
		if (word.at[i] < 'A' || word.at[i] > 'Z')
			return false;
	return word.left > 0 && word.left <= NAME &&
	       (cursor_literal(&rest, " /") || cursor_literal(&rest, " *") ||
		   cursor_literal(&rest, " http"));
}

/* "GET http://user:word@host/": all before the host may be secret. */
static void
hide_user(struct cursor_writer *out, struct cursor *target)
{
	struct cursor rest = *target, before = take_until(&rest, "@"), word;

	if (rest.left == 0)
		return;
	word = take_until(&before, " ");
	if (cursor_literal(&before, " /"))
		return;
	put_first(out, word, NAME);
	put_length(out, before.left);
	*target = rest;
}

/* Of its query only how much there is. */
static void
put_start(struct cursor_writer *out, struct cursor line)
{
	struct cursor rest = line, target = take_until(&rest, "?");

	hide_user(out, &target);
	put_first(out, target, PATH - NAME);
	put_length(out, take_until(&rest, " ").left);
	put_first(out, rest, VALUE / 2);
}

static bool
is_shown(struct cursor name)
{
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (header_is(name, shown[i]))
			return true;
	return false;
}

static void
put_field(struct cursor_writer *out, struct cursor line)
{
	struct cursor rest = line, name = take_until(&rest, ":");

	if (rest.left == 0 || name.left > NAME || !header_is_token(name)) {
		/* A cookie that went astray, or the like. */
		put_first(out, line, line.left > ASTRAY ? BARE : 0);
		return;
	}
	(void)visible_put(out, name);
	put_first(out, rest, is_shown(name) ? VALUE : 1);
}

/* The one that is there: CR LF, or what some take for it. */
static void
put_line_end(struct cursor_writer *out, struct cursor *bytes)
{
	struct cursor end = { .at = bytes->at };

	if (end.left < bytes->left && bytes->at[end.left] == '\r')
		end.left++;
	if (end.left < bytes->left && bytes->at[end.left] == '\n')
		end.left++;
	(void)visible_put(out, end);
	bytes->at += end.left;
	bytes->left -= end.left;
}

void
excerpt_write(struct cursor bytes, struct cursor_writer *out)
{
	size_t most = out->used + LIMIT_EXCERPT - LINE - LENGTH;
	struct cursor all = bytes, line = take_until(&bytes, "\r\n");

	if (!is_start(line)) {
		put_first(out, all, BARE);
		return;
	}
	put_start(out, line);
	/* Behind the empty line is a body. */
	do {
		put_line_end(out, &bytes);
		line = take_until(&bytes, "\r\n");
		put_field(out, line);
	} while (line.left > 0 && out->used < most);
	if (line.left == 0)
		put_line_end(out, &bytes);
	put_length(out, bytes.left);
}
