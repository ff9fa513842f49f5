#include "broker/deed.h"

#include "broker/issuer.h"
#include "schema/json.h"

#include <string.h>

static const char *const act_names[] = {
	[TOKEN_CLIENT] = "issue",
	[TOKEN_EXCHANGE] = "exchange",
	[TOKEN_VERIFY] = "introspect",
	[TOKEN_REVOKE] = "revoke",
};
static_assert(sizeof(act_names) / sizeof(act_names[0]) == TOKEN_ACT_COUNT,
    "every act has a name");

static const enum event_kind kinds[] = {
	[TOKEN_CLIENT] = EVENT_TOKEN_ISSUE,
	[TOKEN_EXCHANGE] = EVENT_TOKEN_EXCHANGE,
	[TOKEN_VERIFY] = EVENT_TOKEN_ISSUE, /* never written */
	[TOKEN_REVOKE] = EVENT_TOKEN_REVOKE,
};

/* An optional member: an empty text is none. */
static void
put_text(struct json *j, const char *key, const char *text)
{
	if (text[0] != '\0')
		json_text(j, key, text);
}

static void
put_token(const struct token *token, struct json *j)
{
	put_text(j, "parent", token->parent);
	json_text(j, "root", token->root);
	json_number(j, "depth", token->depth);
	json_text(j, "subject", token->subject);
	json_text(j, "client", token->client);
	if (token->actors > 0)
		json_open(j, "act", '[');
	for (size_t i = 0; i < token->actors; i++)
		json_text(j, NULL, token->actor[i]);
	if (token->actors > 0)
		json_close(j, ']');
	json_text(j, "audience", token->audience);
	json_text(j, "scope", token->scope);
	json_number(j, "expires", token->expires_s);
}

static void
put_refusal(const struct token_question *question,
    const struct issuer_outcome *outcome, struct json *j)
{
	json_text(j, "act", act_names[question->act]);
	json_text(j, "error", token_error_name(outcome->refusal.error));
	json_text(j, "why", outcome->refusal.why);
	if (outcome->fault != JWS_WELL)
		json_text(j, "fault", jws_fault_name(outcome->fault));
	put_text(j, "client", question->client);
	put_text(j, "audience", question->audience);
	put_text(j, "scope", question->scope);
	put_text(j, "by", question->by);
	if (!outcome->unvouched)
		return;
	json_open(j, "unverified", '{');
	json_text(j, "jti", outcome->token.id);
	json_text(j, "subject", outcome->token.subject);
	json_text(j, "run", outcome->token.run);
	json_close(j, '}');
}

static void
begin(const char *id, int64_t wall_us, struct deed *deed)
{
	deed->event = event_empty();
	deed->event.ts_us = wall_us;
	deed->event.verdict = EVENT_ALLOW;
	memcpy(deed->id, id, strlen(id) + 1);
	deed->event.object = cursor_of_text(deed->id);
}

void
deed_of_root(const struct token *root, int64_t wall_us, struct deed *ret)
{
	struct cursor_writer out =
	    cursor_writer_of(ret->detail, sizeof(ret->detail));
	struct json j = json_to(&out);

	begin(root->id, wall_us, ret);
	ret->event.kind = EVENT_TOKEN_ISSUE;
	ret->event.wait = EVENT_WAIT_COMMIT;
	json_open(&j, NULL, '{');
	put_token(root, &j);
	json_close(&j, '}');
	if (cursor_written(&out))
		ret->event.detail = cursor_of(out.bytes, out.used);
}

static void
put_deed(const struct token_question *question,
    const struct issuer_outcome *outcome, struct json *j)
{
	put_token(&outcome->token, j);
	put_text(j, "dropped", outcome->dropped);
	if (question->act == TOKEN_REVOKE)
		json_number(j, "revoked", (int64_t)outcome->revoked);
	put_text(j, "by", question->by);
}

/* For words of the asker's that no row has room for, with their escapes. */
static void
put_little(const struct issuer_outcome *outcome, struct deed *deed)
{
	struct cursor_writer out =
	    cursor_writer_of(deed->detail, sizeof(deed->detail));
	struct json j = json_to(&out);

	json_open(&j, NULL, '{');
	json_text(&j, "error", token_error_name(outcome->refusal.error));
	json_text(&j, "why", outcome->refusal.why);
	json_close(&j, '}');
	deed->event.detail = cursor_of(out.bytes, out.used);
}

bool
deed_of(const struct token_question *question,
    const struct issuer_outcome *outcome, int64_t wall_us, struct deed *ret)
{
	struct cursor_writer out =
	    cursor_writer_of(ret->detail, sizeof(ret->detail));
	struct json j = json_to(&out);

	if (outcome->well && question->act == TOKEN_VERIFY)
		return false;
	begin(outcome->unvouched ? "" : outcome->token.id, wall_us, ret);
	ret->event.kind = kinds[question->act];
	/* A revocation that was acknowledged must not come undone. */
	ret->event.wait =
	    question->act == TOKEN_REVOKE ? EVENT_WAIT_DISK : EVENT_WAIT_COMMIT;
	json_open(&j, NULL, '{');
	if (outcome->well) {
		put_deed(question, outcome, &j);
	} else {
		ret->event.kind = EVENT_TOKEN_REFUSED;
		ret->event.verdict = EVENT_DENY;
		ret->event.reason = outcome->refusal.reason;
		put_refusal(question, outcome, &j);
	}
	json_close(&j, '}');
	if (cursor_written(&out))
		ret->event.detail = cursor_of(out.bytes, out.used);
	else
		put_little(outcome, ret);
	return true;
}
