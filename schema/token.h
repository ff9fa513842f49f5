/*
 * token - what an access token of ours says, and the question for one.
 *
 * A run with an identity has a root: an entry without text, from the start of
 * the run to its end, that all its tokens descend from.  TOKEN_ASK is a
 * question of the gateway's, for a program in the sandbox, or of the owner's;
 * which run it is about is not in it: the channel says so.  TOKEN_GIVEN and
 * TOKEN_REFUSED answer it.
 */
#ifndef SCHEMA_TOKEN_H
#define SCHEMA_TOKEN_H

#include "schema/base64url.h"
#include "schema/limits.h"
#include "schema/reason.h"

#define TOKEN_ID_BYTES 16
#define TOKEN_ID BASE64URL_LENGTH(TOKEN_ID_BYTES)

/* The last second of the year 9999: what a date can be written for. */
#define TOKEN_TIME_MOST INT64_C(253402300799)

struct token {
	char id[TOKEN_ID + 1];
	char parent[TOKEN_ID + 1]; /* empty: this is a root */
	char root[TOKEN_ID + 1];
	uint8_t depth; /* of a root: 0 */
	char subject[LIMIT_PRINCIPAL + 1]; /* who acts, or on whose behalf */
	char client[LIMIT_PRINCIPAL + 1]; /* who was given it */
	/* Whoever acts for the subject; the first acts now. */
	size_t actors;
	char actor[LIMIT_TOKEN_DEPTH][LIMIT_PRINCIPAL + 1];
	char may_act[LIMIT_PRINCIPAL + 1]; /* or empty */
	char audience[LIMIT_AUDIENCE + 1];
	char scope[LIMIT_SCOPE + 1]; /* words, one blank between them */
	char run[LIMIT_RUN_UID + 1];
	int64_t issued_s, starts_s, expires_s; /* since 1970 */
};

/* Whether its parts go together; says nothing of who may have it. */
bool token_is_sound(const struct token *token) MUST_CHECK;

void token_write(const struct token *token, struct cursor_writer *out);
/* Takes one from body, which may hold more.  STATUS_MALFORMED. */
int token_read(struct cursor *body, struct token *ret) MUST_CHECK;

/* ---- questions ---- */

enum token_act {
	TOKEN_CLIENT, /* one for an identity (RFC 6749 section 4.4) */
	TOKEN_EXCHANGE, /* one for another (RFC 8693) */
	TOKEN_VERIFY, /* none: what the one that is shown is worth */
	TOKEN_REVOKE, /* the one of that id, and all that descend from it */
	TOKEN_ACT_COUNT
};

struct token_question {
	uint32_t number; /* the asker's own; the answer has it too */
	enum token_act act;
	char client[LIMIT_PRINCIPAL + 1]; /* an identity, or empty: the run's */
	char audience[LIMIT_AUDIENCE + 1]; /* or empty: ours */
	char scope[LIMIT_SCOPE + 1]; /* or empty: all there is */
	uint32_t life_s; /* 0: as long as may be */
	char id[TOKEN_ID + 1]; /* to be revoked */
	char by[LIMIT_PRINCIPAL + 1]; /* who asks, when it is the owner */
	struct cursor subject, actor; /* tokens as text; borrowed */
};

/* RFC 6749 section 5.2, RFC 8693 section 2.2.2. */
enum token_error {
	TOKEN_INVALID_REQUEST,
	TOKEN_INVALID_CLIENT,
	TOKEN_INVALID_GRANT,
	TOKEN_UNAUTHORIZED_CLIENT,
	TOKEN_UNSUPPORTED_GRANT,
	TOKEN_INVALID_SCOPE,
	TOKEN_INVALID_TARGET,
	TOKEN_UNAVAILABLE, /* temporarily_unavailable */
	TOKEN_ERROR_COUNT
};
const char *token_error_name(enum token_error error);

struct token_answer {
	uint32_t number;
	struct token token;
	struct cursor text; /* the new token; none for what makes none */
};

#define TOKEN_WHY 255

struct token_refusal {
	uint32_t number;
	enum token_error error;
	enum reason reason;
	char why[TOKEN_WHY + 1]; /* a sentence; quotes no token */
};

void token_question_write(
    const struct token_question *question, struct cursor_writer *out);
int token_question_read(struct cursor body, struct token_question *ret)
    MUST_CHECK;

/* The answer's text borrows from body. */
void token_answer_write(
    const struct token_answer *answer, struct cursor_writer *out);
int token_answer_read(struct cursor body, struct token_answer *ret) MUST_CHECK;

void token_refusal_write(
    const struct token_refusal *refusal, struct cursor_writer *out);
int token_refusal_read(struct cursor body, struct token_refusal *ret)
    MUST_CHECK;

/* ---- the root of a run: TOKEN_ROOT ---- */

struct token_root {
	struct token token;
	uint16_t slot; /* in the run's page */
	uint64_t generation; /* that the slot has until it is revoked */
};
void token_root_write(const struct token_root *root, struct cursor_writer *out);
int token_root_read(struct cursor body, struct token_root *ret) MUST_CHECK;

#endif
