#include "schema/approval.h"

#include "schema/status.h"

#include <assert.h>
#include <string.h>

static const char *const end_names[] = {
	[APPROVAL_GRANTED] = "granted",
	[APPROVAL_REFUSED] = "refused",
	[APPROVAL_EXPIRED] = "expired",
	[APPROVAL_REPLACED] = "replaced",
};

static_assert(sizeof(end_names) / sizeof(end_names[0]) == APPROVAL_END_COUNT,
    "every end has a name");

const char *
approval_end_name(enum approval_end end)
{
	return end_names[end];
}

bool
approval_is_same(
    const struct approval_question *a, const struct approval_question *b)
{
	return a->port == b->port && a->tls == b->tls &&
	       memcmp(a->policy, b->policy, sizeof(a->policy)) == 0 &&
	       strcmp(a->rule, b->rule) == 0 && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->method, b->method) == 0 &&
	       strcmp(a->upgrade, b->upgrade) == 0 &&
	       strcmp(a->target, b->target) == 0;
}

static bool
read_flag(struct cursor *body, bool *ret)
{
	uint8_t flag;

	if (!cursor_u8(body, &flag) || flag > 1)
		return false;
	*ret = flag == 1;
	return true;
}

/* A question without an id could not be answered. */
static bool
read_id(struct cursor *body, char id[LIMIT_ASK_ID + 1])
{
	return cursor_string(body, id, LIMIT_ASK_ID + 1) && id[0] != '\0';
}

void
approval_question_write(
    const struct approval_question *question, struct cursor_writer *out)
{
	cursor_put_string(out, question->id);
	cursor_put_string(out, question->rule);
	cursor_put(out, question->policy, sizeof(question->policy));
	cursor_put_string(out, question->host);
	cursor_put_u16(out, question->port);
	cursor_put_u8(out, question->tls ? 1 : 0);
	cursor_put_string(out, question->method);
	cursor_put_string(out, question->upgrade);
	cursor_put_string(out, question->target);
	cursor_put_string(out, question->program);
	cursor_put_string(out, question->words);
	cursor_put_u32(out, question->timeout_s);
	cursor_put_u32(out, question->grant_s);
	cursor_put_u32(out, question->grant_uses);
}

static bool
read_request(struct cursor *body, struct approval_question *question)
{
	return cursor_string(body, question->host, sizeof(question->host)) &&
	       cursor_u16(body, &question->port) &&
	       read_flag(body, &question->tls) &&
	       cursor_string(
		   body, question->method, sizeof(question->method)) &&
	       cursor_string(
		   body, question->upgrade, sizeof(question->upgrade)) &&
	       cursor_string(
		   body, question->target, sizeof(question->target)) &&
	       cursor_string(
		   body, question->program, sizeof(question->program)) &&
	       cursor_string(body, question->words, sizeof(question->words));
}

int
approval_question_read(struct cursor body, struct approval_question *ret)
{
	struct approval_question question;

	if (!read_id(&body, question.id) ||
	    !cursor_string(&body, question.rule, sizeof(question.rule)) ||
	    !cursor_copy(&body, sizeof(question.policy), question.policy) ||
	    !read_request(&body, &question) ||
	    !cursor_u32(&body, &question.timeout_s) ||
	    !cursor_u32(&body, &question.grant_s) ||
	    !cursor_u32(&body, &question.grant_uses) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = question;
	return STATUS_OK;
}

void
approval_answer_write(
    const struct approval_answer *answer, struct cursor_writer *out)
{
	cursor_put_string(out, answer->id);
	cursor_put_u8(out, answer->yes ? 1 : 0);
	cursor_put_u32(out, answer->grant_s);
	cursor_put_u32(out, answer->grant_uses);
	cursor_put_string(out, answer->by);
}

int
approval_answer_read(struct cursor body, struct approval_answer *ret)
{
	struct approval_answer answer;

	if (!read_id(&body, answer.id) || !read_flag(&body, &answer.yes) ||
	    !cursor_u32(&body, &answer.grant_s) ||
	    !cursor_u32(&body, &answer.grant_uses) ||
	    !cursor_string(&body, answer.by, sizeof(answer.by)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = answer;
	return STATUS_OK;
}

void
approval_over_write(const struct approval_over *over, struct cursor_writer *out)
{
	cursor_put_string(out, over->id);
	cursor_put_u8(out, (uint8_t)over->end);
	cursor_put_u32(out, over->grant_s);
	cursor_put_u32(out, over->grant_uses);
}

int
approval_over_read(struct cursor body, struct approval_over *ret)
{
	struct approval_over over;
	uint8_t end;

	if (!read_id(&body, over.id) || !cursor_u8(&body, &end) ||
	    end >= APPROVAL_END_COUNT || !cursor_u32(&body, &over.grant_s) ||
	    !cursor_u32(&body, &over.grant_uses) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	over.end = (enum approval_end)end;
	*ret = over;
	return STATUS_OK;
}
