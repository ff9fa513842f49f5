/*
 * grant, brokerage: a body that is read is written as the same bytes.  The
 * first byte picks the kind.
 */
#include "schema/brokerage.h"
#include "schema/grant.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static union {
	struct grant_question question;
	struct grant grant;
	struct grant_refusal refusal;
	struct brokerage_want want;
	struct brokerage_lack lack;
	struct brokerage_begin begin;
	struct problem problem;
	struct brokerage_variable variable;
	struct brokerage_revoke revoke;
	uint16_t number;
	char name[LIMIT_CREDENTIAL_NAME + 1];
} message;

static int
again_grant(uint8_t kind, struct cursor body, struct cursor_writer *out)
{
	int status = STATUS_MALFORMED;

	if (kind == 0) {
		status = grant_question_read(body, &message.question);
		if (status == STATUS_OK)
			grant_question_write(&message.question, out);
	} else if (kind == 1) {
		status = grant_read(body, &message.grant);
		if (status == STATUS_OK) {
			grant_write(&message.grant, out);
			grant_done(&message.grant);
		}
	} else if (kind == 2) {
		status = grant_refusal_read(body, &message.refusal);
		if (status == STATUS_OK)
			grant_refusal_write(&message.refusal, out);
	}
	return status;
}

static int
again_brokerage(uint8_t kind, struct cursor body, struct cursor_writer *out)
{
	int status = STATUS_MALFORMED;

	if (kind == 3) {
		status = brokerage_want_read(body, &message.want);
		if (status == STATUS_OK)
			brokerage_want_write(&message.want, out);
	} else if (kind == 4) {
		status = brokerage_lack_read(body, &message.lack);
		if (status == STATUS_OK)
			brokerage_lack_write(&message.lack, out);
	} else if (kind == 5) {
		status = brokerage_begin_read(body, &message.begin);
		if (status == STATUS_OK)
			brokerage_begin_write(&message.begin, out);
	} else if (kind == 6) {
		status = brokerage_problem_read(body, &message.problem);
		if (status == STATUS_OK)
			brokerage_problem_write(&message.problem, out);
	} else if (kind == 7) {
		status = brokerage_variable_read(body, &message.variable);
		if (status == STATUS_OK)
			brokerage_variable_write(&message.variable, out);
	} else if (kind == 8) {
		status = brokerage_revoke_read(body, &message.revoke);
		if (status == STATUS_OK)
			brokerage_revoke_write(&message.revoke, out);
	} else if (kind == 9) {
		status = brokerage_have_read(body, &message.number);
		if (status == STATUS_OK)
			brokerage_have_write(message.number, out);
	} else if (kind == 10) {
		status = brokerage_need_read(body, message.name);
		if (status == STATUS_OK)
			brokerage_need_write(message.name, out);
	}
	return status;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor body = cursor_of(bytes, length);
	uint8_t kind;
	int status;

	if (!cursor_u8(&body, &kind) || body.left > sizeof(room))
		return 0;
	status = kind <= 2 ? again_grant(kind, body, &out)
			   : again_brokerage(kind, body, &out);
	if (status != STATUS_OK)
		return 0;
	assert(cursor_written(&out) && out.used == body.left &&
	       memcmp(room, body.at, body.left) == 0);
	return 0;
}
