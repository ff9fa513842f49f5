/*
 * form: what is read is text, lies in the form, and written out again in the
 * same encoding it is read as the same.
 */
#include "gateway/proto/form.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char text[(size_t)4 * LIMIT_INTERNAL_BODY];

static void
put(struct cursor value, struct cursor_writer *out)
{
	static const char digits[] = "0123456789ABCDEF";
	uint8_t byte;

	while (cursor_u8(&value, &byte)) {
		assert(byte >= ' ' && byte <= '~');
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct form form, again;
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	if (form_read(cursor_of(bytes, length), &form) != STATUS_OK)
		return 0;
	assert(form.count <= LIMIT_FORM_FIELDS);
	for (size_t i = 0; i < form.count; i++) {
		assert(form.fields[i].name.left > 0);
		if (i > 0)
			cursor_put_u8(&out, '&');
		put(form.fields[i].name, &out);
		cursor_put_u8(&out, '=');
		put(form.fields[i].value, &out);
	}
	/* Three times as long, it may be longer than a body. */
	if (!cursor_written(&out) || out.used > LIMIT_INTERNAL_BODY)
		return 0;
	assert(form_read(cursor_of(text, out.used), &again) == STATUS_OK);
	assert(again.count == form.count);
	for (size_t i = 0; i < form.count; i++)
		assert(
		    again.fields[i].value.left == form.fields[i].value.left &&
		    memcmp(again.fields[i].value.at, form.fields[i].value.at,
			form.fields[i].value.left) == 0);
	return 0;
}
