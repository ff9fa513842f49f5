/*
 * approval: a body that is read is written as the same bytes.  The first byte
 * picks the kind.
 */
#include "schema/approval.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_FRAME];
	static struct approval_question question;
	struct approval_answer answer;
	struct approval_over over;
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor body = cursor_of(bytes, length);
	uint8_t kind;
	int status = STATUS_MALFORMED;

	if (!cursor_u8(&body, &kind))
		return 0;
	if (kind == 0) {
		status = approval_question_read(body, &question);
		if (status == STATUS_OK)
			approval_question_write(&question, &out);
	} else if (kind == 1) {
		status = approval_answer_read(body, &answer);
		if (status == STATUS_OK)
			approval_answer_write(&answer, &out);
	} else if (kind == 2) {
		status = approval_over_read(body, &over);
		if (status == STATUS_OK)
			approval_over_write(&over, &out);
	}
	if (status != STATUS_OK)
		return 0;
	assert(cursor_written(&out) && out.used == body.left);
	assert(memcmp(room, body.at, out.used) == 0);
	return 0;
}
