/*
 * excerpt: whatever came, what is shown is short and printable, and the value
 * of a field that may be secret is not in it.
 */
#include "gateway/proto/excerpt.h"
#include "schema/limits.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static const char secret[] = "Authorization: s3cr3tw0rd\r\n";

static void
check(struct cursor bytes, bool hidden)
{
	unsigned char text[LIMIT_EXCERPT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	excerpt_write(bytes, &out);
	assert(cursor_written(&out));
	assert(out.used > 0 || bytes.left == 0);
	for (size_t i = 0; i < out.used; i++)
		assert(text[i] >= ' ' && text[i] != 0x7f);
	if (hidden)
		assert(memmem(text, out.used, "s3cr3tw0rd", 10) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char head[1 << 16];
	const unsigned char *end = memchr(bytes, '\n', length);
	size_t first;

	check(cursor_of(bytes, length), false);
	if (end == NULL || length + sizeof(secret) > sizeof(head))
		return 0;
	/* The same with such a field behind its first line. */
	first = (size_t)(end - bytes) + 1;
	memcpy(head, bytes, first);
	memcpy(head + first, secret, sizeof(secret) - 1);
	memcpy(head + first + sizeof(secret) - 1, end + 1, length - first);
	check(cursor_of(head, length + sizeof(secret) - 1),
	    memmem(bytes, length, "s3cr3tw0rd", 10) == NULL);
	return 0;
}
