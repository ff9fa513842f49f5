#include "policy/exematch.h"

#include "schema/status.h"

#include <string.h>

bool
exematch_parse_hash(struct cursor digits, uint8_t ret[EXEMATCH_SHA256])
{
	uint8_t made[EXEMATCH_SHA256];

	for (size_t i = 0; i < sizeof(made); i++) {
		struct cursor pair;
		uint64_t byte;

		if (!cursor_take(&digits, 2, &pair) ||
		    !cursor_hex(&pair, 255, &byte) || !cursor_is_empty(&pair))
			return false;
		made[i] = (uint8_t)byte;
	}
	if (!cursor_is_empty(&digits))
		return false;
	memcpy(ret, made, sizeof(made));
	return true;
}

/* The kernel resolves a path: it is absolute and has no such segments. */
static bool
is_resolved(struct cursor path)
{
	struct cursor segment;
	bool more = cursor_literal(&path, "/");

	if (!more || cursor_is_empty(&path))
		return false;
	while (more) {
		more = cursor_until(&path, '/', &segment);
		if (!more)
			segment = path;
		if (segment.left == 0 || cursor_equals(segment, ".") ||
		    cursor_equals(segment, ".."))
			return false;
	}
	return true;
}

int
exematch_init(struct exematch *match, const char *text, size_t length)
{
	struct exematch made = { .by_hash = false };
	struct cursor in = cursor_of(text, length);
	int status;

	if (cursor_literal(&in, EXEMATCH_HASH_PREFIX)) {
		made.by_hash = true;
		if (!exematch_parse_hash(in, made.sha256))
			return STATUS_MALFORMED;
		*match = made;
		return STATUS_OK;
	}
	/* A pattern may begin with what stands for any folders. */
	if (!is_resolved(in) && !cursor_literal(&in, "**/"))
		return STATUS_MALFORMED;
	status = pathmatch_init_file(&made.path, text, length);
	if (status != STATUS_OK)
		return status;
	*match = made;
	return STATUS_OK;
}

void
exematch_done(struct exematch *match)
{
	if (match == NULL)
		return;
	pathmatch_done(&match->path);
	memset(match, 0, sizeof(*match));
}

void
exematch_print_hash(
    const uint8_t sha256[EXEMATCH_SHA256], struct cursor_writer *out)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < EXEMATCH_SHA256; i++) {
		cursor_put_u8(out, (uint8_t)digits[sha256[i] >> 4]);
		cursor_put_u8(out, (uint8_t)digits[sha256[i] & 15]);
	}
}

void
exematch_print(const struct exematch *match, struct cursor_writer *out)
{
	if (!match->by_hash) {
		cursor_put_text(out, match->path.text);
		return;
	}
	cursor_put_text(out, EXEMATCH_HASH_PREFIX);
	exematch_print_hash(match->sha256, out);
}

bool
exematch_may_meet(const struct exematch *a, const struct exematch *b)
{
	if (a->by_hash != b->by_hash)
		return true;
	if (a->by_hash)
		return memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
	return pathmatch_may_meet(&a->path, &b->path);
}
