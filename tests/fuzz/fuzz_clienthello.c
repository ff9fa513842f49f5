/*
 * clienthello_parse: a hello is not complete before its last byte, says the
 * same whatever follows, and names a host that has one spelling.
 */
#include "gateway/proto/clienthello.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct clienthello hello, again;
	struct hostname name;

	if (clienthello_parse(cursor_of(bytes, length), &hello) != PARSE_OK)
		return 0;
	assert(hello.length > 0 && hello.length <= length);
	assert(hello.alpn_count <= LIMIT_ALPN);
	assert(clienthello_parse(cursor_of(bytes, hello.length), &again) ==
	       PARSE_OK);
	assert(again.length == hello.length);
	assert(hostname_equals(&again.sni, &hello.sni));
	assert(clienthello_parse(cursor_of(bytes, hello.length - 1), &again) ==
	       PARSE_MORE);
	if (!hostname_is_set(&hello.sni))
		return 0;
	assert(hostname_parse(hello.sni.text, hello.sni.length, &name) ==
	       STATUS_OK);
	assert(hostname_equals(&name, &hello.sni));
	return 0;
}
