#include "gateway/flow/echo.h"

#include "gateway/proto/needle.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
	NEEDLES_MAX = 2 * LIMIT_GRANT_FIELDS,
	INFLATED = 16384, /* at a time */
	GZIP_WINDOW = 15 + 16 /* zlib's way to say gzip alone */
};

enum coding {
	CODING_NONE,
	CODING_GZIP,
	CODING_OTHER
};

struct echo {
	struct needles *needles;
	struct needle *heads, *body;
	enum rule_echo mode;
	bool seen;
	unsigned char *fields; /* of a head that was masked */

	/* Of a body: what is held, where it begins in the stream. */
	struct outbox held;
	uint64_t held_at;
	enum coding coding;
	bool inflating, inflated;
	bool full; /* what was inflated last may have more behind it */
	z_stream zlib;
	struct outbox packed; /* not inflated yet */
};

void
echo_free(struct echo *echo)
{
	if (echo == NULL)
		return;
	if (echo->inflating)
		(void)inflateEnd(&echo->zlib);
	outbox_done(&echo->held);
	outbox_done(&echo->packed);
	needle_free(echo->heads);
	needle_free(echo->body);
	needles_free(echo->needles);
	free(echo->fields);
	free(echo);
}

/* ---- what is looked for ---- */

static void
add(struct cursor *list, size_t *count, struct cursor text)
{
	if (text.left >= LIMIT_NEEDLE_LEAST && text.left <= LIMIT_NEEDLE &&
	    *count < NEEDLES_MAX)
		list[(*count)++] = text;
}

/* Behind the scheme of Authorization, where there is one. */
static struct cursor
key_of(const struct grant_field *field)
{
	struct cursor text = secret_bytes(field->value), scheme;
	struct cursor rest = text;

	if (strcmp(field->name, "authorization") == 0 &&
	    cursor_until(&rest, ' ', &scheme))
		return rest;
	return text;
}

struct echo *
echo_new(const struct grant *grant, enum rule_echo mode, int *ret_status)
{
	struct cursor list[NEEDLES_MAX];
	struct echo *echo;
	size_t count = 0;

	for (size_t i = 0; i < grant->count; i++)
		if (grant_place_is_sent(grant->fields[i].place))
			add(list, &count, key_of(&grant->fields[i]));
	*ret_status = STATUS_OK;
	if (count == 0)
		return NULL;
	*ret_status = STATUS_NO_MEMORY;
	echo = calloc(1, sizeof(*echo));
	if (echo == NULL)
		return NULL;
	echo->mode = mode;
	echo->needles = needles_new(list, count, false);
	if (echo->needles != NULL) {
		echo->heads = needle_new(echo->needles);
		echo->body = needle_new(echo->needles);
	}
	if (echo->heads == NULL || echo->body == NULL) {
		echo_free(echo);
		return NULL;
	}
	*ret_status = STATUS_OK;
	return echo;
}

/* ---- heads ---- */

static bool
is_in(struct echo *echo, struct cursor text)
{
	struct needle_hit hit;

	return needle_is_in(echo->heads, text, &hit);
}

static void
mask(struct echo *echo, unsigned char *bytes, size_t length)
{
	struct cursor in = cursor_of(bytes, length);
	struct needle_hit hit;

	needle_reset(echo->heads);
	while (needle_find(echo->heads, &in, &hit))
		memset(bytes + hit.begin, '*', (size_t)(hit.end - hit.begin));
}

/* All values in one block of our own, masked. */
static int
mask_fields(struct echo *echo, struct header *header)
{
	size_t length = 1, used = 0;

	for (size_t i = 0; i < header->count; i++)
		length += header->fields[i].value.left;
	/* An interim answer may have had some before. */
	free(echo->fields);
	echo->fields = malloc(length);
	if (echo->fields == NULL)
		return STATUS_NO_MEMORY;
	for (size_t i = 0; i < header->count; i++) {
		struct cursor *value = &header->fields[i].value;

		if (value->left > 0)
			memcpy(echo->fields + used, value->at, value->left);
		mask(echo, echo->fields + used, value->left);
		*value = cursor_of(echo->fields + used, value->left);
		used += value->left;
	}
	return STATUS_OK;
}

static enum coding
coding_of(const struct response *response)
{
	struct cursor value;

	if (!header_find(&response->header, "content-encoding", &value) ||
	    header_is(value, "identity"))
		return CODING_NONE;
	if (header_count(&response->header, "content-encoding") == 1 &&
	    (header_is(value, "gzip") || header_is(value, "x-gzip")))
		return CODING_GZIP;
	return CODING_OTHER;
}

static int
begin_body(struct echo *echo, struct response *response)
{
	echo->coding = coding_of(response);
	if (echo->mode == RULE_ECHO_PASS ||
	    response->body.framing == MESSAGE_NO_BODY)
		return STATUS_OK;
	if (echo->coding == CODING_OTHER)
		return echo->mode == RULE_ECHO_MASK ? STATUS_REFUSED
						    : STATUS_OK;
	if (echo->coding == CODING_NONE)
		return STATUS_OK;
	if (inflateInit2(&echo->zlib, GZIP_WINDOW) != Z_OK)
		return STATUS_NO_MEMORY;
	echo->inflating = true;
	if (echo->mode != RULE_ECHO_MASK)
		return STATUS_OK;
	(void)header_drop(&response->header, "content-encoding");
	/* They speak of the bytes that were packed. */
	(void)header_drop(&response->header, "etag");
	(void)header_drop(&response->header, "accept-ranges");
	response->body = (struct message_body){ .framing = MESSAGE_CHUNKED };
	return STATUS_OK;
}

int
echo_head(struct echo *echo, struct response *response)
{
	struct header *header = &response->header;
	bool found = is_in(echo, response->reason);

	for (size_t i = 0; i < header->count && !found; i++)
		found = is_in(echo, header->fields[i].value);
	if (found) {
		echo->seen = true;
		response->reason = cursor_of(NULL, 0);
		if (mask_fields(echo, header) != STATUS_OK)
			return STATUS_NO_MEMORY;
	}
	return response_is_interim(response) ? STATUS_OK
					     : begin_body(echo, response);
}

/* ---- bodies ---- */

/* Masks in what is held, and lets go of what can begin no hit. */
static int
mask_plain(
    struct echo *echo, struct cursor bytes, bool last, struct outbox *out)
{
	struct needle_hit hit;
	struct cursor in = bytes, ready;

	if (!outbox_put(&echo->held, bytes))
		return STATUS_FULL;
	while (needle_find(echo->body, &in, &hit)) {
		unsigned char *held = unconst(outbox_bytes(&echo->held).at);

		echo->seen = true;
		memset(held + (hit.begin - echo->held_at), '*',
		    (size_t)(hit.end - hit.begin));
	}
	ready = outbox_bytes(&echo->held);
	if (!last)
		ready.left -= needle_held(echo->body);
	if (!outbox_put(out, ready))
		return STATUS_FULL;
	echo->held_at += ready.left;
	outbox_eat(&echo->held, ready.left);
	return STATUS_OK;
}

static void
look(struct echo *echo, struct cursor bytes)
{
	struct needle_hit hit;

	while (needle_find(echo->body, &bytes, &hit))
		echo->seen = true;
}

/* Inflates one piece; out may be NULL, and then it is only looked at. */
static int
inflate_piece(struct echo *echo, struct cursor *in, struct outbox *out)
{
	unsigned char clear[INFLATED];
	struct cursor piece;
	int status;

	echo->zlib.next_in = unconst(in->at);
	echo->zlib.avail_in = (uInt)in->left;
	echo->zlib.next_out = clear;
	echo->zlib.avail_out = sizeof(clear);
	status = inflate(&echo->zlib, Z_NO_FLUSH);
	if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
		return STATUS_MALFORMED;
	in->at += in->left - echo->zlib.avail_in;
	in->left = echo->zlib.avail_in;
	piece = cursor_of(clear, sizeof(clear) - echo->zlib.avail_out);
	/* What stands behind the end is nothing that anybody reads. */
	echo->inflated = echo->inflated || status == Z_STREAM_END;
	echo->full = echo->zlib.avail_out == 0;
	if (out == NULL)
		look(echo, piece);
	else
		return mask_plain(echo, piece, false, out);
	return STATUS_OK;
}

static bool
has_more(const void *arg)
{
	const struct echo *echo = arg;

	return !echo->inflated &&
	       (echo->full || outbox_bytes(&echo->packed).left > 0);
}

static int
take(void *arg, struct cursor bytes, bool last, struct outbox *out)
{
	struct echo *echo = arg;
	struct cursor in;
	size_t before;
	int status;

	if (!echo->inflating)
		return mask_plain(echo, bytes, last, out);
	if (!outbox_put(&echo->packed, bytes))
		return STATUS_FULL;
	in = outbox_bytes(&echo->packed);
	before = in.left;
	if (has_more(echo)) {
		status = inflate_piece(echo, &in, out);
		if (status != STATUS_OK)
			return status;
		outbox_eat(&echo->packed, before - in.left);
	}
	if (!last || has_more(echo))
		return STATUS_OK;
	/* Cut off in the middle, it must not look whole. */
	if (!echo->inflated)
		return STATUS_MALFORMED;
	return mask_plain(echo, cursor_of(NULL, 0), true, out);
}

struct refit
echo_refit(struct echo *echo)
{
	static const struct refit_ops ops = { .take = take,
		.has_more = has_more };

	if (echo->mode != RULE_ECHO_MASK)
		return (struct refit){ .ops = NULL };
	return (struct refit){ .ops = &ops, .arg = echo };
}

void
echo_look(struct echo *echo, struct cursor bytes)
{
	if (echo->mode != RULE_ECHO_FLAG || echo->coding == CODING_OTHER)
		return;
	if (!echo->inflating) {
		look(echo, bytes);
		return;
	}
	while (!echo->inflated && (bytes.left > 0 || echo->full))
		if (inflate_piece(echo, &bytes, NULL) != STATUS_OK)
			echo->inflated = true;
}

bool
echo_was_seen(const struct echo *echo)
{
	return echo->seen;
}
