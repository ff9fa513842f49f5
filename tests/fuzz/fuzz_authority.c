/* authority_parse: what is written is read again as the same. */
#include "gateway/proto/authority.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct authority authority, again;
	char text[300];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	if (authority_parse(cursor_of(bytes, length), &authority) != STATUS_OK)
		return 0;
	assert(hostname_is_set(&authority.name) !=
	       address_is_set(&authority.literal));
	assert(length == 0 || memchr(bytes, '@', length) == NULL);
	authority_write(&authority, &out);
	assert(cursor_written(&out));
	assert(authority_parse(cursor_of(text, out.used), &again) == STATUS_OK);
	assert(authority_equals(&authority, &again, 0));
	return 0;
}
