/*
 * pem_next: it moves on, stays in its text, and gives less than it read.
 */
#include "gateway/tls/pem.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor text = cursor_of(bytes, length);
	unsigned char *der = malloc(length + 1);
	struct cursor_writer out = cursor_writer_of(der, length);
	size_t before = text.left;

	assert(der != NULL);
	while (pem_next(&text, &out)) {
		assert(text.left < before);
		assert(text.at + text.left == bytes + length);
		assert(cursor_written(&out));
		assert(out.used > 0 && out.used < before - text.left);
		before = text.left;
		out = cursor_writer_of(der, length);
	}
	free(der);
	return 0;
}
