/*
 * token: each frame about tokens that is read is sound, and written again it
 * is the same bytes.
 */
#include "schema/status.h"
#include "schema/token.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char frame[LIMIT_FRAME];

static void
check(const struct cursor_writer *out, const uint8_t *bytes, size_t length)
{
	assert(cursor_written(out) && out->used == length);
	assert(memcmp(out->bytes, bytes, length) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor body = cursor_of(bytes, length);
	struct cursor_writer out = cursor_writer_of(frame, sizeof(frame));
	struct token_question question;
	struct token_answer answer;
	struct token_refusal refusal;
	struct token_root root;

	if (token_question_read(body, &question) == STATUS_OK) {
		token_question_write(&question, &out);
		check(&out, bytes, length);
	}
	out = cursor_writer_of(frame, sizeof(frame));
	if (token_answer_read(body, &answer) == STATUS_OK) {
		assert(token_is_sound(&answer.token));
		token_answer_write(&answer, &out);
		check(&out, bytes, length);
	}
	out = cursor_writer_of(frame, sizeof(frame));
	if (token_refusal_read(body, &refusal) == STATUS_OK) {
		token_refusal_write(&refusal, &out);
		check(&out, bytes, length);
	}
	out = cursor_writer_of(frame, sizeof(frame));
	if (token_root_read(body, &root) == STATUS_OK) {
		assert(root.token.depth == 0);
		token_root_write(&root, &out);
		check(&out, bytes, length);
	}
	return 0;
}
