/*
 * reply_read: what is taken for an answer is one to the question that was
 * asked, and holds no more than there is room for.  The first byte says of
 * which family the question is.
 */
#include "gateway/net/reply.h"
#include "schema/limits.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct reply_question question = { .id = 0x1234 };
	struct cursor message = cursor_of(bytes, length);
	struct reply reply = { .status = 1 };
	uint8_t family;

	if (!cursor_u8(&message, &family))
		return 0;
	question.type = family % 2 == 0 ? REPLY_V4 : REPLY_V6;
	assert(hostname_parse("a.test", 6, &question.name) == STATUS_OK);
	if (reply_read(message, &question, &reply) != STATUS_OK) {
		assert(reply.status == 1);
		return 0;
	}
	assert(reply.count <= REPLY_ADDRESSES);
	assert((reply.status == STATUS_OK) == (reply.count > 0));
	assert(reply.ttl <= LIMIT_TTL_S);
	for (size_t i = 0; i < reply.count; i++)
		assert(address_is_set(&reply.list[i]));
	question.id++;
	assert(reply_read(message, &question, &reply) == STATUS_MALFORMED);
	return 0;
}
