#include "gateway/flow/stead.h"

#include "gateway/proto/needle.h"
#include "gateway/run/lures.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

/* How a key is written. */
enum form {
	FORM_PLAIN,
	FORM_PERCENT, /* in a URL, and in a form */
	FORM_JSON
};

enum {
	LETTERS_MOST = 3 /* that one byte becomes */
};

struct stead {
	struct needles *needles;
	struct needle *search;
	const struct secret *key; /* borrows from the grant */
	bool path, query, body;
	size_t least, most; /* lengths of the placeholders */

	/* Of a body: the key as it is written there, and what is held back. */
	struct secret *written;
	struct outbox held;
	uint64_t held_at; /* where it begins in the stream */
};

void
stead_free(struct stead *stead)
{
	if (stead == NULL)
		return;
	needle_free(stead->search);
	needles_free(stead->needles);
	secret_free(stead->written);
	outbox_done(&stead->held);
	free(stead);
}

static const struct grant_field *
field_of(const struct grant *grant)
{
	for (size_t i = 0; i < grant->count; i++)
		if (grant->fields[i].place == GRANT_STEAD)
			return &grant->fields[i];
	return NULL;
}

static bool
look_for(struct stead *stead, const struct cursor *list, size_t count)
{
	stead->least = SIZE_MAX;
	for (size_t i = 0; i < count; i++) {
		if (list[i].left < stead->least)
			stead->least = list[i].left;
		if (list[i].left > stead->most)
			stead->most = list[i].left;
	}
	stead->needles = needles_new(list, count, false);
	if (stead->needles != NULL)
		stead->search = needle_new(stead->needles);
	return stead->search != NULL;
}

int
stead_new(const struct grant *grant, const struct lures *lures,
    const char *credential, struct stead **ret)
{
	const struct grant_field *field = field_of(grant);
	struct cursor list[LIMIT_NEEDLES];
	size_t count =
	    field == NULL ? 0 : lures_values(lures, credential, list);
	struct stead *stead;

	*ret = NULL;
	if (count == 0)
		return STATUS_OK;
	stead = calloc(1, sizeof(*stead));
	if (stead == NULL || !look_for(stead, list, count)) {
		stead_free(stead);
		return STATUS_NO_MEMORY;
	}
	stead->key = field->value;
	stead->path = strchr(field->name, 'p') != NULL;
	stead->query = strchr(field->name, 'q') != NULL;
	stead->body = strchr(field->name, 'b') != NULL;
	*ret = stead;
	return STATUS_OK;
}

/* ---- how a key is written ---- */

static void
put_byte(enum form form, uint8_t byte, struct cursor_writer *out)
{
	static const char digits[] = "0123456789ABCDEF";
	static const char unreserved[] = "abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-._~";
	bool stays = byte != 0 && strchr(unreserved, byte) != NULL;

	if (form == FORM_PERCENT && !stays) {
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
		return;
	}
	if (form == FORM_JSON && (byte == '"' || byte == '\\'))
		cursor_put_u8(out, '\\');
	cursor_put_u8(out, byte);
}

static void
put_key(const struct stead *stead, enum form form, struct cursor_writer *out)
{
	struct cursor bytes = secret_bytes(stead->key);
	uint8_t byte;

	while (cursor_u8(&bytes, &byte))
		put_byte(form, byte, out);
}

/* ---- what is there as a whole ---- */

static int
replace(struct stead *stead, struct cursor *text, struct cursor_writer *out)
{
	struct cursor in = *text, rest = *text, before;
	size_t from = out->used;
	struct needle_hit hit;
	uint64_t done = 0;

	needle_reset(stead->search);
	while (needle_find(stead->search, &in, &hit)) {
		if (!hit.plain)
			continue;
		if (!cursor_take(&rest, (size_t)(hit.begin - done), &before))
			return STATUS_MALFORMED;
		cursor_put(out, before.at, before.left);
		put_key(stead, FORM_PERCENT, out);
		if (!cursor_take(&rest, (size_t)(hit.end - hit.begin), &before))
			return STATUS_MALFORMED;
		done = hit.end;
	}
	if (done == 0)
		return STATUS_OK;
	cursor_put(out, rest.at, rest.left);
	if (!cursor_written(out))
		return STATUS_TOO_LONG;
	*text = cursor_of(out->bytes + from, out->used - from);
	return STATUS_OK;
}

int
stead_path(struct stead *stead, struct cursor *text, struct cursor_writer *out)
{
	return stead->path ? replace(stead, text, out) : STATUS_OK;
}

int
stead_query(struct stead *stead, struct cursor *text, struct cursor_writer *out)
{
	return stead->query ? replace(stead, text, out) : STATUS_OK;
}

/* ---- bodies ---- */

static enum form
form_of(const struct request *head)
{
	struct cursor type, word;

	if (!header_find(&head->header, "content-type", &type))
		return FORM_PLAIN;
	if (!cursor_until(&type, ';', &word))
		word = type;
	if (header_is(word, "application/x-www-form-urlencoded"))
		return FORM_PERCENT;
	if (header_is(word, "application/json"))
		return FORM_JSON;
	return FORM_PLAIN;
}

static struct secret *
write_key(const struct stead *stead, enum form form)
{
	size_t room = secret_bytes(stead->key).left * LETTERS_MOST;
	struct secret *written = secret_room(room);
	struct cursor_writer out;

	if (written == NULL)
		return NULL;
	out = cursor_writer_of(secret_fill(written), room);
	put_key(stead, form, &out);
	secret_shorten(written, out.used);
	return written;
}

bool
stead_begin_body(struct stead *stead, struct request *head)
{
	size_t length;

	if (!stead->body || !request_has_body(head))
		return false;
	/* What is packed cannot be read, and goes as it is. */
	if (header_count(&head->header, "content-encoding") > 0)
		return false;
	stead->written = write_key(stead, form_of(head));
	if (stead->written == NULL)
		return false;
	needle_reset(stead->search);
	length = secret_bytes(stead->written).left;
	if (head->body.framing == MESSAGE_LENGTH &&
	    (stead->least != length || stead->most != length))
		head->body =
		    (struct message_body){ .framing = MESSAGE_CHUNKED };
	return true;
}

/* What is held up to this place in the stream goes on, or away. */
static int
let_go(struct stead *stead, uint64_t until, struct outbox *out)
{
	struct cursor held = outbox_bytes(&stead->held);

	if (until - stead->held_at < held.left)
		held.left = (size_t)(until - stead->held_at);
	if (out != NULL && !outbox_put(out, held))
		return STATUS_FULL;
	stead->held_at += held.left;
	outbox_eat(&stead->held, held.left);
	return STATUS_OK;
}

int
stead_body(
    struct stead *stead, struct cursor bytes, bool last, struct outbox *out)
{
	struct cursor in = bytes;
	struct needle_hit hit;
	size_t held;

	if (!outbox_put(&stead->held, bytes))
		return STATUS_FULL;
	while (needle_find(stead->search, &in, &hit)) {
		if (!hit.plain)
			continue;
		if (let_go(stead, hit.begin, out) != STATUS_OK ||
		    !outbox_put(out, secret_bytes(stead->written)) ||
		    let_go(stead, hit.end, NULL) != STATUS_OK)
			return STATUS_FULL;
	}
	held = last ? 0 : needle_held(stead->search);
	bytes = outbox_bytes(&stead->held);
	if (held >= bytes.left)
		return STATUS_OK;
	return let_go(stead, stead->held_at + (bytes.left - held), out);
}
