/*
 * errand: a body that is read is written as the same bytes.  The first byte
 * picks the kind.
 */
#include "schema/errand.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static union {
	struct errand_endpoint endpoint;
	struct errand errand;
	struct errand_answer answer;
} message;

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor body = cursor_of(bytes, length), value;
	uint8_t kind;
	int status = STATUS_MALFORMED;

	if (!cursor_u8(&body, &kind) || body.left > sizeof(room))
		return 0;
	if (kind == 0) {
		status = errand_endpoint_read(body, &message.endpoint);
		if (status == STATUS_OK)
			errand_endpoint_write(&message.endpoint, &out);
	} else if (kind == 1) {
		status = errand_read(body, &message.errand);
		if (status == STATUS_OK)
			errand_write(&message.errand, &out);
	} else if (kind == 2) {
		status = errand_answer_read(body, &message.answer);
		if (status == STATUS_OK)
			errand_answer_write(&message.answer, &out);
		if (status == STATUS_OK &&
		    errand_answer_find(&message.answer, "access_token", &value))
			assert(message.answer.value_count > 0);
	}
	if (status != STATUS_OK)
		return 0;
	assert(cursor_written(&out) && out.used == body.left);
	assert(memcmp(room, body.at, out.used) == 0);
	return 0;
}
