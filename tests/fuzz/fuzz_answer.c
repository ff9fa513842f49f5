/*
 * answer: whatever a server says, only what was wanted comes back, it fits a
 * frame, and nothing of it could end a line.  The first byte is the status.
 */
#include "broker/fetch/answer.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	static const char *const paths[] = { "access_token", "expires_in",
		"data/data/key", "errors/0", "error/message" };
	struct errand errand = { .want_count = 0 };
	struct errand_answer message = { .number = 1 };
	struct answer answer = { .json = NULL };

	if (length == 0)
		return 0;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		errand.wants[i].name = cursor_of_text(paths[i]);
		errand.wants[i].path = cursor_of_text(paths[i]);
		errand.want_count++;
	}
	answer_read(&answer, cursor_of(bytes + 1, length - 1),
	    bytes[0] % 2 == 0 ? 200 : 400, &errand, &message);
	assert(message.value_count <= errand.want_count);
	assert(message.end == ERRAND_ANSWERED || message.value_count == 0);
	for (size_t i = 0; i < message.value_count; i++) {
		struct cursor value = message.values[i].value;
		uint8_t byte;

		while (cursor_u8(&value, &byte))
			assert(byte >= 0x20 && byte != 0x7f);
	}
	errand_answer_write(&message, &out);
	assert(cursor_written(&out));
	answer_done(&answer);
	return 0;
}
