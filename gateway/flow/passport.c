#include "gateway/flow/passport.h"

#include "broker/client.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/form.h"
#include "schema/json.h"
#include "schema/status.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define GRANT_TYPE_CLIENT "client_credentials"
#define GRANT_TYPE_EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define TYPE_ACCESS "urn:ietf:params:oauth:token-type:access_token"
#define TYPE_JWT "urn:ietf:params:oauth:token-type:jwt"

struct passport {
	enum passport_page page;
	void (*on_done)(void *arg);
	void *arg;
	struct client *client;
	struct client_ask ask;
	struct token_question question;
	struct form form;
	bool well;
	enum token_error error;
	char why[TOKEN_WHY + 1];
	struct token token;
	char text[LIMIT_TOKEN + 1];
};

/* Gives false, for those who return it. */
static bool
refuse(struct passport *passport, enum token_error error, const char *why)
{
	size_t length = strnlen(why, TOKEN_WHY);

	passport->error = error;
	memcpy(passport->why, why, length);
	passport->why[length] = '\0';
	return false;
}

/* ---- the question ---- */

/* What may stand there once; the audience and its like have a rule apart. */
static const char *const once[] = { "grant_type", "scope", "client_id",
	"lifetime", "subject_token", "subject_token_type", "actor_token",
	"actor_token_type", "requested_token_type", "token" };

static bool
check_once(struct passport *passport)
{
	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		if (form_count(&passport->form, once[i]) > 1)
			return refuse(passport, TOKEN_INVALID_REQUEST,
			    "a parameter is there twice");
	return true;
}

static bool
copy(struct passport *passport, const char *name, char *out, size_t size)
{
	struct cursor value = form_find(&passport->form, name);

	if (value.left >= size)
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "a parameter is longer than any that there is");
	if (value.left > 0)
		memcpy(out, value.at, value.left);
	out[value.left] = '\0';
	return true;
}

/* RFC 8693 section 2.1.1: rights for several targets are their product. */
static bool
take_audience(struct passport *passport)
{
	struct token_question *question = &passport->question;
	size_t audiences = form_count(&passport->form, "audience");
	size_t resources = form_count(&passport->form, "resource");

	if (audiences + resources > 1)
		return refuse(passport, TOKEN_INVALID_TARGET,
		    "a token is for one audience");
	return copy(passport, resources > 0 ? "resource" : "audience",
	    question->audience, sizeof(question->audience));
}

static bool
take_lifetime(struct passport *passport)
{
	struct cursor text = form_find(&passport->form, "lifetime");
	uint64_t seconds;

	if (text.left == 0)
		return true;
	if (!cursor_decimal(&text, UINT32_MAX, &seconds) || text.left > 0 ||
	    seconds == 0)
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "lifetime is a number of seconds");
	passport->question.life_s = (uint32_t)seconds;
	return true;
}

static bool
is_access_token(struct cursor type)
{
	return cursor_equals(type, TYPE_ACCESS) ||
	       cursor_equals(type, TYPE_JWT);
}

/* RFC 8693 section 2.1: a type with each token, and none without. */
static bool
take_shown(struct passport *passport, const char *name, const char *type_name,
    struct cursor *ret)
{
	struct cursor token = form_find(&passport->form, name);
	struct cursor type = form_find(&passport->form, type_name);

	if (token.left == 0 && type.left == 0)
		return true;
	if (token.left == 0 || token.left > LIMIT_TOKEN ||
	    !is_access_token(type))
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "each token comes with its type, and only access tokens of "
		    "this run are taken");
	*ret = token;
	return true;
}

static bool
read_exchange(struct passport *passport)
{
	struct token_question *question = &passport->question;
	struct cursor wanted =
	    form_find(&passport->form, "requested_token_type");

	question->act = TOKEN_EXCHANGE;
	if (wanted.left > 0 && !is_access_token(wanted))
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "only access tokens are given");
	if (!take_shown(passport, "subject_token", "subject_token_type",
		&question->subject) ||
	    !take_shown(
		passport, "actor_token", "actor_token_type", &question->actor))
		return false;
	if (question->subject.left == 0)
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "subject_token is missing");
	return true;
}

static bool
read_token(struct passport *passport)
{
	struct token_question *question = &passport->question;
	struct cursor grant = form_find(&passport->form, "grant_type");

	if (!take_audience(passport) || !take_lifetime(passport) ||
	    !copy(passport, "scope", question->scope, sizeof(question->scope)))
		return false;
	if (cursor_equals(grant, GRANT_TYPE_EXCHANGE))
		return read_exchange(passport);
	question->act = TOKEN_CLIENT;
	if (cursor_equals(grant, GRANT_TYPE_CLIENT))
		return copy(passport, "client_id", question->client,
		    sizeof(question->client));
	if (grant.left == 0)
		return refuse(
		    passport, TOKEN_INVALID_REQUEST, "grant_type is missing");
	return refuse(passport, TOKEN_UNSUPPORTED_GRANT,
	    "grant_type is client_credentials, or that of RFC 8693");
}

static bool
read_shown(struct passport *passport)
{
	struct token_question *question = &passport->question;
	struct cursor token = form_find(&passport->form, "token");

	question->act =
	    passport->page == PASSPORT_REVOKE ? TOKEN_REVOKE : TOKEN_VERIFY;
	if (token.left == 0 || token.left > LIMIT_TOKEN)
		return refuse(
		    passport, TOKEN_INVALID_REQUEST, "token is missing");
	question->subject = token;
	return true;
}

static bool
read_form(struct passport *passport, const struct passport_wish *wish)
{
	if (!wish->is_form ||
	    form_read(wish->body, &passport->form) != STATUS_OK)
		return refuse(passport, TOKEN_INVALID_REQUEST,
		    "the body is no application/x-www-form-urlencoded of at "
		    "most a few parameters");
	if (!check_once(passport))
		return false;
	if (wish->page == PASSPORT_TOKEN)
		return read_token(passport);
	return read_shown(passport);
}

/* ---- the broker ---- */

static void
on_answer(struct client_ask *ask, const struct client_answer *answer)
{
	struct passport *passport =
	    (struct passport *)((char *)ask - offsetof(struct passport, ask));

	passport->client = NULL;
	if (answer->token != NULL) {
		struct cursor text = answer->token->text;

		passport->well = true;
		passport->token = answer->token->token;
		/* token_answer_read() has seen that it is no longer. */
		if (text.left > 0)
			memcpy(passport->text, text.at, text.left);
		passport->text[text.left] = '\0';
	} else if (answer->refusal != NULL) {
		(void)refuse(passport, answer->refusal->error, answer->why);
	} else {
		(void)refuse(passport, TOKEN_UNAVAILABLE, answer->why);
	}
	passport->on_done(passport->arg);
}

static bool
ask_broker(struct passport *passport, const struct passport_wish *wish)
{
	struct grants *grants = wish->flow->plane->grants;

	if (grants == NULL)
		return refuse(passport, TOKEN_UNAUTHORIZED_CLIENT,
		    "this run has no identity: exeat run --identity NAME gives "
		    "it one");
	passport->ask.on_answer = on_answer;
	if (client_token(grants_client(grants), &passport->question,
		&passport->ask, clock_monotonic_us()) != STATUS_OK)
		return refuse(passport, TOKEN_UNAVAILABLE,
		    "the broker cannot be asked at the moment");
	passport->client = grants_client(grants);
	return true;
}

struct passport *
passport_ask(const struct passport_wish *wish, bool *ret_done)
{
	struct passport *passport = calloc(1, sizeof(*passport));

	if (passport == NULL)
		return NULL;
	passport->page = wish->page;
	passport->on_done = wish->on_done;
	passport->arg = wish->arg;
	*ret_done = !read_form(passport, wish) || !ask_broker(passport, wish);
	return passport;
}

void
passport_free(struct passport *passport)
{
	if (passport == NULL)
		return;
	if (passport->client != NULL)
		client_forget(passport->client, &passport->ask);
	/* Tokens are worth something for minutes. */
	explicit_bzero(passport, sizeof(*passport));
	free(passport);
}

/* ---- documents ---- */

static void
write_token(const struct passport *passport, struct json *j)
{
	const struct token *token = &passport->token;

	json_text(j, "access_token", passport->text);
	if (passport->question.act == TOKEN_EXCHANGE)
		json_text(j, "issued_token_type", TYPE_ACCESS);
	json_text(j, "token_type", "Bearer");
	json_number(j, "expires_in", token->expires_s - token->issued_s);
	json_text(j, "scope", token->scope);
}

static void
write_shown(const struct passport *passport, struct json *j)
{
	const struct token *token = &passport->token;

	json_bool(j, "active", true);
	json_text(j, "scope", token->scope);
	json_text(j, "client_id", token->client);
	json_text(j, "token_type", "Bearer");
	json_number(j, "exp", token->expires_s);
	json_number(j, "iat", token->issued_s);
	json_number(j, "nbf", token->starts_s);
	json_text(j, "sub", token->subject);
	json_text(j, "aud", token->audience);
	json_text(j, "jti", token->id);
	for (size_t i = 0; i < token->actors; i++) {
		json_open(j, "act", '{');
		json_text(j, "sub", token->actor[i]);
	}
	for (size_t i = 0; i < token->actors; i++)
		json_close(j, '}');
}

static unsigned
write_error(const struct passport *passport, struct json *j)
{
	json_text(j, "error", token_error_name(passport->error));
	json_text(j, "error_description", passport->why);
	return passport->error == TOKEN_UNAVAILABLE ? 503 : 400;
}

/*
 * Whatever is wrong with a token that is asked about, it is not active, and no
 * more is told (RFC 7662 section 2.2); and it is revoked, even one that never
 * was (RFC 7009 section 2.2).
 */
static bool
is_about_token(const struct passport *passport)
{
	return passport->page != PASSPORT_TOKEN &&
	       passport->error == TOKEN_INVALID_GRANT;
}

unsigned
passport_answer(const struct passport *passport, struct json *j)
{
	unsigned status = 200;

	json_open(j, NULL, '{');
	if (!passport->well && !is_about_token(passport))
		status = write_error(passport, j);
	else if (passport->page == PASSPORT_TOKEN)
		write_token(passport, j);
	else if (passport->page == PASSPORT_INTROSPECT && passport->well)
		write_shown(passport, j);
	else if (passport->page == PASSPORT_INTROSPECT)
		json_bool(j, "active", false);
	json_close(j, '}');
	return status;
}
