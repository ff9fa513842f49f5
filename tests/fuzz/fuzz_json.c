/* json: whatever bytes are given, what is written is valid JSON. */
#include "schema/json.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <jansson.h>

#define ROOM (1 << 20)

static char text[ROOM];

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&out);
	json_t *read;

	if (length > ROOM / 16)
		return 0;
	json_open(&j, NULL, '{');
	json_bytes(&j, "all", cursor_of(bytes, length));
	json_open(&j, "each", '[');
	for (size_t i = 0; i < length; i++)
		json_bytes(&j, NULL, cursor_of(bytes + i, 1));
	json_close(&j, ']');
	json_number(&j, "length", (int64_t)length);
	json_close(&j, '}');
	assert(cursor_written(&out));
	/* NULs are in it as escapes, which jansson has to be told to take. */
	read = json_loadb(
	    text, out.used, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	assert(json_is_object(read));
	assert(json_array_size(json_object_get(read, "each")) == length);
	json_decref(read);
	return 0;
}
