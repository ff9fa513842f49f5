#include "broker/issuer.h"

#include "broker/agent.h"
#include "broker/attenuate.h"
#include "broker/claims.h"
#include "broker/lineage.h"
#include "broker/remit.h"
#include "schema/status.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct issuer {
	struct issuer_setup setup;
	struct jwk *key;
	struct lineage *lineage;
	const struct lineage_entry *root;
};

/* One question on its way to its outcome. */
struct asking {
	struct issuer *issuer;
	const struct token_question *question;
	int64_t now_s;
	struct issuer_outcome *out;
};

/* Gives false, for those who return it. */
static bool
refuse(const struct asking *asking, enum token_error error, enum reason reason,
    const char *why)
{
	struct token_refusal *refusal = &asking->out->refusal;

	refusal->error = error;
	refusal->reason = reason;
	if (snprintf(refusal->why, sizeof(refusal->why), "%s", why) < 0)
		refusal->why[0] = '\0';
	return false;
}

/* ---- new ones ---- */

static bool
make_id(char out[TOKEN_ID + 1])
{
	unsigned char bytes[TOKEN_ID_BYTES];
	struct cursor_writer text = cursor_writer_of(out, TOKEN_ID);

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return false;
	base64url_write(cursor_of(bytes, sizeof(bytes)), &text);
	out[text.used] = '\0';
	return cursor_written(&text);
}

static const char *
name_of(const struct issuer *issuer)
{
	return issuer->setup.name == NULL ? ISSUER_NAME : issuer->setup.name;
}

static bool
sign(const struct issuer *issuer, struct issuer_outcome *out)
{
	unsigned char bytes[LIMIT_TOKEN];
	struct cursor_writer payload = cursor_writer_of(bytes, sizeof(bytes));
	struct cursor_writer text =
	    cursor_writer_of(out->text, sizeof(out->text));

	claims_write(&out->token, name_of(issuer), &payload);
	if (!cursor_written(&payload) ||
	    !jws_sign(issuer->key, JWS_ACCESS_TOKEN,
		cursor_of(bytes, payload.used), &text))
		return false;
	out->length = text.used;
	return true;
}

static bool
finish(const struct asking *asking)
{
	struct issuer_outcome *out = asking->out;

	if (make_id(out->token.id) && sign(asking->issuer, out) &&
	    lineage_add(asking->issuer->lineage, &out->token) == STATUS_OK)
		return true;
	out->length = 0;
	return refuse(asking, TOKEN_UNAVAILABLE, REASON_OVERLOAD,
	    "this run holds as many tokens as it may; the oldest end soon");
}

static const struct {
	enum token_error error;
	const char *why;
} ends[] = {
	[ATTENUATE_WELL] = { TOKEN_INVALID_REQUEST, "" },
	[ATTENUATE_SCOPE] = { TOKEN_INVALID_SCOPE,
	    "nothing of this scope may be had" },
	[ATTENUATE_AUDIENCE] = { TOKEN_INVALID_TARGET,
	    "tokens of this run are for " ISSUER_NAME " alone" },
	[ATTENUATE_DEPTH] = { TOKEN_INVALID_REQUEST,
	    "this token was handed on as often as may be" },
	[ATTENUATE_OVER] = { TOKEN_INVALID_REQUEST,
	    "no second is left of what it is made from" },
};
static_assert(sizeof(ends) / sizeof(ends[0]) == ATTENUATE_END_COUNT,
    "every end has its error");

static bool
cut(const struct asking *asking, const struct lineage_entry *parent,
    const struct attenuate_wish *wish)
{
	struct issuer_outcome *out = asking->out;
	enum attenuate_end end =
	    attenuate(&parent->token, wish, &out->token, out->dropped);

	if (end == ATTENUATE_WELL)
		return finish(asking);
	return refuse(
	    asking, ends[end].error, REASON_ATTENUATION, ends[end].why);
}

/* What the question says itself; who is meant is the caller's to add. */
static struct attenuate_wish
wish_of(const struct asking *asking)
{
	const struct token_question *question = asking->question;

	return (struct attenuate_wish){ .scope = question->scope,
		.audience = question->audience,
		.life_s = question->life_s,
		.now_s = asking->now_s };
}

static bool
answer_client(const struct asking *asking)
{
	const struct issuer_setup *setup = &asking->issuer->setup;
	const char *name = asking->question->client;
	const struct agent *agent = setup->agent;
	struct attenuate_wish wish = wish_of(asking);
	char principal[LIMIT_PRINCIPAL + 1];

	if (name[0] != '\0')
		agent = agents_find(setup->agents, name);
	if (agent == NULL)
		return refuse(asking, TOKEN_INVALID_CLIENT, REASON_ATTENUATION,
		    "there is no identity of this name");
	if (agent != setup->agent && !agent_lets(setup->agent, agent))
		return refuse(asking, TOKEN_UNAUTHORIZED_CLIENT,
		    REASON_ATTENUATION,
		    "this identity may not act for the one of this run");
	if (!issuer_holds(asking->issuer))
		return refuse(asking, TOKEN_INVALID_GRANT, REASON_REVOKED,
		    "the identity of this run was revoked");
	agent_principal(agent, principal);
	wish.client = principal;
	wish.actor = agent == setup->agent ? NULL : principal;
	wish.most_scope = agent->scope;
	wish.most_life_s = agent->life_s;
	return cut(asking, asking->issuer->root, &wish);
}

/* ---- those that are shown ---- */

/*
 * Of one that is not ours: what it says of itself, which proves nothing.  If
 * that is another run, then that is the reason to tell.
 */
static enum reason
look_at_stranger(const struct asking *asking, const struct jws *jws)
{
	unsigned char bytes[LIMIT_TOKEN];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct token token;

	if (!jws_unverified(jws, &out) ||
	    claims_read(cursor_of(bytes, out.used), name_of(asking->issuer),
		&token) != STATUS_OK)
		return REASON_BAD_TOKEN;
	asking->out->token = token;
	asking->out->unvouched = true;
	return strcmp(token.run, asking->issuer->setup.run) == 0
		   ? REASON_BAD_TOKEN
		   : REASON_WRONG_RUN;
}

/* RFC 9068 section 4, in its order. */
static enum reason
check(const struct asking *asking, struct cursor text,
    const struct lineage_entry **ret)
{
	const struct issuer *issuer = asking->issuer;
	unsigned char bytes[LIMIT_TOKEN];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	const struct lineage_entry *entry;
	struct token token;
	struct jws jws;

	asking->out->fault = jws_read(text, &jws);
	if (asking->out->fault != JWS_WELL)
		return REASON_BAD_TOKEN;
	if (strcmp(jws.kid, jwk_id(issuer->key)) != 0)
		return look_at_stranger(asking, &jws);
	asking->out->fault =
	    jws_verify(&jws, issuer->key, JWS_ACCESS_TOKEN, &out);
	if (asking->out->fault != JWS_WELL)
		return REASON_BAD_TOKEN;
	if (claims_read(cursor_of(bytes, out.used), name_of(issuer), &token) !=
	    STATUS_OK)
		return REASON_BAD_TOKEN;
	asking->out->token = token;
	if (strcmp(token.run, issuer->setup.run) != 0)
		return REASON_WRONG_RUN;
	if (strcmp(token.audience, ISSUER_NAME) != 0)
		return REASON_WRONG_AUDIENCE;
	if (token.expires_s <= asking->now_s)
		return REASON_TOKEN_EXPIRED;
	entry = lineage_find(issuer->lineage, token.id);
	if (entry == NULL || token.starts_s > asking->now_s)
		return REASON_BAD_TOKEN;
	if (entry->revoked)
		return REASON_REVOKED;
	*ret = entry;
	return REASON_NONE;
}

static bool
show(const struct asking *asking, struct cursor text, enum token_error error,
    const struct lineage_entry **ret)
{
	enum reason reason = check(asking, text, ret);

	if (reason == REASON_NONE)
		return true;
	return refuse(asking, error, reason, reason_entry(reason)->title);
}

/* Who acts by it: RFC 8693 section 4.1, the outermost. */
static const char *
actor_of(const struct token *token)
{
	return token->actors > 0 ? token->actor[0] : token->subject;
}

/* Fills in who is to hold the new one. */
static bool
put_holder(const struct asking *asking, const struct token *subject,
    const struct token *actor, struct attenuate_wish *wish)
{
	const struct agents *agents = asking->issuer->setup.agents;
	const char *holder = actor == NULL ? subject->client : actor_of(actor);
	const struct agent *own = agents_of(agents, subject->subject);
	const struct agent *agent = agents_of(agents, holder);

	/* Our own tokens name nobody else, unless the file is another one. */
	if (own == NULL || agent == NULL)
		return refuse(asking, TOKEN_INVALID_REQUEST, REASON_ATTENUATION,
		    "nobody of this name may hold a token");
	if (own != agent && !agent_lets(own, agent))
		return refuse(asking, TOKEN_INVALID_REQUEST, REASON_ATTENUATION,
		    "this actor may not act for that subject");
	if (actor != NULL && strcmp(holder, actor_of(subject)) != 0)
		wish->actor = holder;
	if (actor != NULL)
		wish->ends_s = actor->expires_s;
	wish->client = holder;
	wish->most_scope = agent->scope;
	wish->most_life_s = agent->life_s < LIMIT_DELEGATED_LIFE_S
				? agent->life_s
				: LIMIT_DELEGATED_LIFE_S;
	return true;
}

static bool
answer_exchange(const struct asking *asking)
{
	const struct lineage_entry *subject, *actor = NULL;
	struct attenuate_wish wish = wish_of(asking);

	/* RFC 8693 section 2.2.2 wants invalid_request for both. */
	if (!show(asking, asking->question->subject, TOKEN_INVALID_REQUEST,
		&subject))
		return false;
	if (asking->question->actor.left > 0 &&
	    !show(
		asking, asking->question->actor, TOKEN_INVALID_REQUEST, &actor))
		return false;
	asking->out->token = subject->token;
	if (!put_holder(asking, &subject->token,
		actor == NULL ? NULL : &actor->token, &wish))
		return false;
	return cut(asking, subject, &wish);
}

static bool
answer_verify(const struct asking *asking)
{
	const struct lineage_entry *shown;

	return show(
	    asking, asking->question->subject, TOKEN_INVALID_GRANT, &shown);
}

static bool
answer_revoke(const struct asking *asking)
{
	const char *id = asking->question->id;
	const struct lineage_entry *shown =
	    lineage_find(asking->issuer->lineage, id);

	/* A program has to show it; only the owner may name it. */
	if (id[0] == '\0' && !show(asking, asking->question->subject,
				 TOKEN_INVALID_GRANT, &shown))
		return false;
	if (shown == NULL)
		return refuse(asking, TOKEN_INVALID_GRANT, REASON_BAD_TOKEN,
		    "this run has no token of this name");
	asking->out->token = shown->token;
	return lineage_revoke(asking->issuer->lineage, shown->token.id,
		   &asking->out->revoked) == STATUS_OK;
}

/* ---- questions ---- */

static bool (*const answers[])(const struct asking *asking) = {
	[TOKEN_CLIENT] = answer_client,
	[TOKEN_EXCHANGE] = answer_exchange,
	[TOKEN_VERIFY] = answer_verify,
	[TOKEN_REVOKE] = answer_revoke,
};
static_assert(sizeof(answers) / sizeof(answers[0]) == TOKEN_ACT_COUNT,
    "every question has its answer");

void
issuer_answer(struct issuer *issuer, const struct token_question *question,
    int64_t now_s, struct issuer_outcome *ret)
{
	const struct asking asking = { .issuer = issuer,
		.question = question,
		.now_s = now_s,
		.out = ret };

	*ret = (struct issuer_outcome){ .refusal.number = question->number };
	lineage_expire(issuer->lineage, now_s);
	if (question->scope[0] != '\0' && !remit_is_sound(question->scope))
		(void)refuse(&asking, TOKEN_INVALID_SCOPE, REASON_MALFORMED,
		    "a scope is words with one blank between them, none twice");
	else
		ret->well = answers[question->act](&asking);
}

/* ---- itself ---- */

const struct token *
issuer_root(const struct issuer *issuer)
{
	return &issuer->root->token;
}

bool
issuer_holds(const struct issuer *issuer)
{
	return !issuer->root->revoked;
}

const struct lineage *
issuer_lineage(const struct issuer *issuer)
{
	return issuer->lineage;
}

static bool
make_root(struct issuer *issuer, int64_t now_s)
{
	const struct agent *agent = issuer->setup.agent;
	struct token root = { .issued_s = now_s,
		.starts_s = now_s,
		.expires_s = TOKEN_TIME_MOST,
		.audience = ISSUER_NAME };

	if (!make_id(root.id) || strlen(issuer->setup.run) >= sizeof(root.run))
		return false;
	memcpy(root.root, root.id, sizeof(root.root));
	memcpy(root.run, issuer->setup.run, strlen(issuer->setup.run) + 1);
	memcpy(root.scope, agent->scope, sizeof(root.scope));
	agent_principal(agent, root.subject);
	agent_principal(agent, root.client);
	/* The claim has room for one; who may act, the file decides. */
	if (agent->others == 1)
		(void)snprintf(root.may_act, sizeof(root.may_act), "agent:%s",
		    agent->other[0]);
	if (lineage_add(issuer->lineage, &root) != STATUS_OK)
		return false;
	issuer->root = lineage_find(issuer->lineage, root.id);
	return true;
}

struct issuer *
issuer_new(const struct issuer_setup *setup, int64_t now_s)
{
	struct issuer *issuer = calloc(1, sizeof(*issuer));

	if (issuer == NULL)
		return NULL;
	issuer->setup = *setup;
	issuer->key = jwk_make(JWK_ES256);
	issuer->lineage = lineage_new();
	if (issuer->key != NULL && issuer->lineage != NULL &&
	    make_root(issuer, now_s))
		return issuer;
	issuer_free(issuer);
	return NULL;
}

void
issuer_free(struct issuer *issuer)
{
	if (issuer == NULL)
		return;
	lineage_free(issuer->lineage);
	jwk_free(issuer->key);
	free(issuer);
}
