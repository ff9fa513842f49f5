#include "schema/token.h"

#include "schema/status.h"

#include <assert.h>
#include <string.h>

static const char *const error_names[] = {
	[TOKEN_INVALID_REQUEST] = "invalid_request",
	[TOKEN_INVALID_CLIENT] = "invalid_client",
	[TOKEN_INVALID_GRANT] = "invalid_grant",
	[TOKEN_UNAUTHORIZED_CLIENT] = "unauthorized_client",
	[TOKEN_UNSUPPORTED_GRANT] = "unsupported_grant_type",
	[TOKEN_INVALID_SCOPE] = "invalid_scope",
	[TOKEN_INVALID_TARGET] = "invalid_target",
	[TOKEN_UNAVAILABLE] = "temporarily_unavailable",
};
static_assert(sizeof(error_names) / sizeof(error_names[0]) == TOKEN_ERROR_COUNT,
    "every error has a name");

const char *
token_error_name(enum token_error error)
{
	return error_names[error];
}

/* ---- a token ---- */

static bool
is_id(const char *text)
{
	unsigned char bytes[TOKEN_ID_BYTES];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	return base64url_read(cursor_of_text(text), &out) &&
	       out.used == sizeof(bytes);
}

static bool
is_time(int64_t seconds)
{
	return seconds >= 0 && seconds <= TOKEN_TIME_MOST;
}

bool
token_is_sound(const struct token *token)
{
	bool is_root = token->depth == 0;

	return is_id(token->id) && is_id(token->root) &&
	       (is_root ? token->parent[0] == '\0' : is_id(token->parent)) &&
	       is_root == (strcmp(token->id, token->root) == 0) &&
	       token->depth <= LIMIT_TOKEN_DEPTH &&
	       token->actors <= token->depth && token->subject[0] != '\0' &&
	       token->client[0] != '\0' && token->audience[0] != '\0' &&
	       token->run[0] != '\0' && is_time(token->issued_s) &&
	       is_time(token->starts_s) && is_time(token->expires_s) &&
	       token->starts_s < token->expires_s;
}

void
token_write(const struct token *token, struct cursor_writer *out)
{
	cursor_put_string(out, token->id);
	cursor_put_string(out, token->parent);
	cursor_put_string(out, token->root);
	cursor_put_u8(out, token->depth);
	cursor_put_string(out, token->subject);
	cursor_put_string(out, token->client);
	cursor_put_u8(out, (uint8_t)token->actors);
	for (size_t i = 0; i < token->actors; i++)
		cursor_put_string(out, token->actor[i]);
	cursor_put_string(out, token->may_act);
	cursor_put_string(out, token->audience);
	cursor_put_string(out, token->scope);
	cursor_put_string(out, token->run);
	cursor_put_u64(out, (uint64_t)token->issued_s);
	cursor_put_u64(out, (uint64_t)token->starts_s);
	cursor_put_u64(out, (uint64_t)token->expires_s);
}

static bool
read_time(struct cursor *body, int64_t *ret)
{
	uint64_t seconds;

	if (!cursor_u64(body, &seconds) || seconds > (uint64_t)TOKEN_TIME_MOST)
		return false;
	*ret = (int64_t)seconds;
	return true;
}

static bool
read_actors(struct cursor *body, struct token *token)
{
	uint8_t count;

	if (!cursor_u8(body, &count) || count > LIMIT_TOKEN_DEPTH)
		return false;
	for (; token->actors < count; token->actors++)
		if (!cursor_string(body, token->actor[token->actors],
			sizeof(token->actor[0])))
			return false;
	return true;
}

int
token_read(struct cursor *body, struct token *ret)
{
	struct token token = { .id = "" };
	struct cursor at = *body;

	if (!cursor_string(&at, token.id, sizeof(token.id)) ||
	    !cursor_string(&at, token.parent, sizeof(token.parent)) ||
	    !cursor_string(&at, token.root, sizeof(token.root)) ||
	    !cursor_u8(&at, &token.depth) ||
	    !cursor_string(&at, token.subject, sizeof(token.subject)) ||
	    !cursor_string(&at, token.client, sizeof(token.client)) ||
	    !read_actors(&at, &token) ||
	    !cursor_string(&at, token.may_act, sizeof(token.may_act)) ||
	    !cursor_string(&at, token.audience, sizeof(token.audience)) ||
	    !cursor_string(&at, token.scope, sizeof(token.scope)) ||
	    !cursor_string(&at, token.run, sizeof(token.run)) ||
	    !read_time(&at, &token.issued_s) ||
	    !read_time(&at, &token.starts_s) ||
	    !read_time(&at, &token.expires_s) || !token_is_sound(&token))
		return STATUS_MALFORMED;
	*body = at;
	*ret = token;
	return STATUS_OK;
}

/* ---- questions ---- */

void
token_question_write(
    const struct token_question *question, struct cursor_writer *out)
{
	cursor_put_u32(out, question->number);
	cursor_put_u8(out, (uint8_t)question->act);
	cursor_put_string(out, question->client);
	cursor_put_string(out, question->audience);
	cursor_put_string(out, question->scope);
	cursor_put_u32(out, question->life_s);
	cursor_put_string(out, question->id);
	cursor_put_string(out, question->by);
	cursor_put_block(out, question->subject.at, question->subject.left);
	cursor_put_block(out, question->actor.at, question->actor.left);
}

int
token_question_read(struct cursor body, struct token_question *ret)
{
	struct token_question question;
	uint8_t act;

	if (!cursor_u32(&body, &question.number) || !cursor_u8(&body, &act) ||
	    act >= TOKEN_ACT_COUNT ||
	    !cursor_string(&body, question.client, sizeof(question.client)) ||
	    !cursor_string(
		&body, question.audience, sizeof(question.audience)) ||
	    !cursor_string(&body, question.scope, sizeof(question.scope)) ||
	    !cursor_u32(&body, &question.life_s) ||
	    !cursor_string(&body, question.id, sizeof(question.id)) ||
	    !cursor_string(&body, question.by, sizeof(question.by)) ||
	    !cursor_block(&body, &question.subject) ||
	    !cursor_block(&body, &question.actor) || !cursor_is_empty(&body) ||
	    question.subject.left > LIMIT_TOKEN ||
	    question.actor.left > LIMIT_TOKEN)
		return STATUS_MALFORMED;
	question.act = (enum token_act)act;
	*ret = question;
	return STATUS_OK;
}

void
token_answer_write(const struct token_answer *answer, struct cursor_writer *out)
{
	cursor_put_u32(out, answer->number);
	token_write(&answer->token, out);
	cursor_put_block(out, answer->text.at, answer->text.left);
}

int
token_answer_read(struct cursor body, struct token_answer *ret)
{
	struct token_answer answer;

	if (!cursor_u32(&body, &answer.number) ||
	    token_read(&body, &answer.token) != STATUS_OK ||
	    !cursor_block(&body, &answer.text) || !cursor_is_empty(&body) ||
	    answer.text.left > LIMIT_TOKEN)
		return STATUS_MALFORMED;
	*ret = answer;
	return STATUS_OK;
}

void
token_refusal_write(
    const struct token_refusal *refusal, struct cursor_writer *out)
{
	cursor_put_u32(out, refusal->number);
	cursor_put_u8(out, (uint8_t)refusal->error);
	cursor_put_u8(out, (uint8_t)refusal->reason);
	cursor_put_string(out, refusal->why);
}

int
token_refusal_read(struct cursor body, struct token_refusal *ret)
{
	struct token_refusal refusal;
	uint8_t error, reason;

	if (!cursor_u32(&body, &refusal.number) || !cursor_u8(&body, &error) ||
	    error >= TOKEN_ERROR_COUNT || !cursor_u8(&body, &reason) ||
	    !reason_is_known(reason) ||
	    !cursor_string(&body, refusal.why, sizeof(refusal.why)) ||
	    !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	refusal.error = (enum token_error)error;
	refusal.reason = (enum reason)reason;
	*ret = refusal;
	return STATUS_OK;
}

/* ---- the root of a run ---- */

void
token_root_write(const struct token_root *root, struct cursor_writer *out)
{
	token_write(&root->token, out);
	cursor_put_u16(out, root->slot);
	cursor_put_u64(out, root->generation);
}

int
token_root_read(struct cursor body, struct token_root *ret)
{
	struct token_root root;

	if (token_read(&body, &root.token) != STATUS_OK ||
	    root.token.depth != 0 || !cursor_u16(&body, &root.slot) ||
	    !cursor_u64(&body, &root.generation) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	*ret = root;
	return STATUS_OK;
}
