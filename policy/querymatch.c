#include "policy/querymatch.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

int
querymatch_init(struct querymatch *match, const char *name, const char *value,
    size_t length)
{
	struct querymatch made = { 0 };
	int status = pathmatch_init_text(&made.value, value, length);

	if (status != STATUS_OK)
		return status;
	made.name = strdup(name);
	if (made.name == NULL) {
		querymatch_done(&made);
		return STATUS_NO_MEMORY;
	}
	*match = made;
	return STATUS_OK;
}

void
querymatch_done(struct querymatch *match)
{
	if (match == NULL)
		return;
	free(match->name);
	pathmatch_done(&match->value);
	memset(match, 0, sizeof(*match));
}

static bool
decode_byte(struct cursor *in, uint8_t *ret)
{
	struct cursor digits;
	uint64_t value;
	uint8_t byte;

	if (!cursor_u8(in, &byte) || byte == ';')
		return false;
	*ret = byte == '+' ? ' ' : byte;
	if (byte != '%')
		return true;
	if (!cursor_take(in, 2, &digits) || !cursor_hex(&digits, 255, &value) ||
	    !cursor_is_empty(&digits) || value == 0)
		return false;
	*ret = (uint8_t)value;
	return true;
}

static bool
decode(struct cursor in, struct cursor_writer *out)
{
	while (!cursor_is_empty(&in)) {
		uint8_t byte;

		if (!decode_byte(&in, &byte))
			return false;
		cursor_put_u8(out, byte);
	}
	return cursor_written(out);
}

/* Reads "name=value", or a name alone; both in one buffer. */
static bool
decode_parameter(struct cursor in, struct cursor_writer *out,
    struct cursor *ret_name, struct cursor *ret_value)
{
	struct cursor name;
	size_t split;

	if (!cursor_until(&in, '=', &name)) {
		name = in;
		in.left = 0;
	}
	if (!decode(name, out))
		return false;
	split = out->used;
	if (!decode(in, out))
		return false;
	*ret_name = cursor_of(out->bytes, split);
	*ret_value = cursor_of(out->bytes + split, out->used - split);
	return true;
}

enum querymatch_answer
querymatch_weigh(const struct querymatch *match, struct cursor query)
{
	char buffer[LIMIT_HTTP_URI];
	struct cursor parameter, name, value;
	bool some = false, other = false;

	while (!cursor_is_empty(&query)) {
		struct cursor_writer out =
		    cursor_writer_of(buffer, sizeof(buffer));

		if (!cursor_until(&query, '&', &parameter)) {
			parameter = query;
			query.left = 0;
		}
		if (!decode_parameter(parameter, &out, &name, &value))
			return QUERYMATCH_UNCLEAR;
		if (!cursor_equals(name, match->name))
			continue;
		if (pathmatch_holds(&match->value, value))
			some = true;
		else
			other = true;
	}
	if (!some)
		return QUERYMATCH_NONE;
	return other ? QUERYMATCH_SOME : QUERYMATCH_ALL;
}
