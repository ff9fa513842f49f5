#include "gateway/proto/form.h"

#include "schema/status.h"

static bool
take_escaped(struct cursor *text, uint8_t *ret)
{
	struct cursor digits;
	uint64_t value;

	if (!cursor_take(text, 2, &digits) ||
	    !cursor_hex(&digits, UINT8_MAX, &value) ||
	    !cursor_is_empty(&digits))
		return false;
	*ret = (uint8_t)value;
	return true;
}

/* Appends what text stands for, and gives where it is. */
static bool
decode(struct cursor text, struct cursor_writer *out, struct cursor *ret)
{
	size_t start = out->used;
	uint8_t byte;

	while (cursor_u8(&text, &byte)) {
		if (byte == '+')
			byte = ' ';
		else if (byte == '%' && !take_escaped(&text, &byte))
			return false;
		if (byte < ' ' || byte > '~')
			return false;
		cursor_put_u8(out, byte);
	}
	*ret = cursor_of(out->bytes + start, out->used - start);
	return cursor_written(out);
}

/* The next pair; what stands behind the last "&" is one too. */
static struct cursor
next_pair(struct cursor *body)
{
	struct cursor pair, all = *body;

	if (cursor_until(body, '&', &pair))
		return pair;
	*body = cursor_of(all.at + all.left, 0);
	return all;
}

int
form_read(struct cursor body, struct form *ret)
{
	struct cursor_writer out =
	    cursor_writer_of(ret->bytes, sizeof(ret->bytes));

	ret->count = 0;
	/* Decoded it is never longer, so the room is enough. */
	if (body.left > sizeof(ret->bytes))
		return STATUS_TOO_LONG;
	while (body.left > 0) {
		struct form_field *field = &ret->fields[ret->count];
		struct cursor value = next_pair(&body), name;

		if (ret->count == LIMIT_FORM_FIELDS)
			return STATUS_FULL;
		if (!cursor_until(&value, '=', &name) || name.left == 0 ||
		    !decode(name, &out, &field->name) ||
		    !decode(value, &out, &field->value))
			return STATUS_MALFORMED;
		ret->count++;
	}
	return STATUS_OK;
}

size_t
form_count(const struct form *form, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < form->count; i++)
		count += cursor_equals(form->fields[i].name, name);
	return count;
}

struct cursor
form_find(const struct form *form, const char *name)
{
	for (size_t i = 0; i < form->count; i++)
		if (cursor_equals(form->fields[i].name, name))
			return form->fields[i].value;
	return cursor_of(NULL, 0);
}
