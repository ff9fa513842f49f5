/*
 * wish: what is read is one request in words, and as a question it says
 * nothing about anything but the request.
 */
#include "gateway/proto/wish.h"
#include "policy/question.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct wish got;
	static struct question question;
	struct problem problem;
	const char *fault = NULL;

	if (wish_parse(cursor_of(bytes, length), &got, &fault) != STATUS_OK) {
		assert(fault != NULL);
		return 0;
	}
	assert(strlen(got.why) <= LIMIT_ASK_WORDS);
	if (question_read(cursor_of_text(got.request), 1, &question,
		&problem) != STATUS_OK)
		return 0;
	assert(question.facts.exe == NULL);
	assert(question.facts.exe_sha256 == NULL);
	assert(question.facts.now_us == 1);
	assert(question.facts.last);
	assert(question.facts.message != FACT_MESSAGE_MCP);
	return 0;
}
