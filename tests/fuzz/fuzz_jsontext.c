/* jsontext: what it takes for an object, a whole JSON reader takes too. */
#include "schema/jsontext.h"

#include "schema/limits.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <jansson.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	json_error_t error;
	json_t *read;

	if (length > LIMIT_EVENT_DETAIL ||
	    !jsontext_is_object(cursor_of(bytes, length)))
		return 0;
	read = json_loadb((const char *)bytes, length, JSON_ALLOW_NUL, &error);
	if (read == NULL) {
		/* What it does not promise: UTF-8, and numbers that fit. */
		enum json_error_code why = json_error_code(&error);

		assert(why == json_error_invalid_utf8 ||
		       why == json_error_numeric_overflow ||
		       why == json_error_null_byte_in_key);
		return 0;
	}
	assert(json_is_object(read));
	json_decref(read);
	return 0;
}
