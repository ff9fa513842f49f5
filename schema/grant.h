/*
 * grant - one question for a credential, and the answer.
 *
 * GRANT_ASK names a credential of the policy and where it is to go.  Which run
 * asks is not in it: the channel says so.  GRANT_GIVEN is what has to be set
 * in a request, for so long; GRANT_REFUSED says in words why there is none,
 * and never quotes a secret.
 *
 * A grant is for its run, credential, host, port and scheme.  It is worth
 * nothing once its lease is over, or the counter of its slot in the run's page
 * (GRANT_PAGE) is no longer the one it was given under.
 */
#ifndef SCHEMA_GRANT_H
#define SCHEMA_GRANT_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/secret.h"

struct grant_question {
	uint32_t number; /* the asker's own; the answer has it too */
	char credential[LIMIT_CREDENTIAL_NAME + 1];
	char host[LIMIT_HOST + 1]; /* canonical name, or a literal address */
	uint16_t port;
	bool tls;
	/* What the kind needs to know besides, or empty: for sigv4
	 * "20150830/eu-central-1/s3". */
	char scope[LIMIT_GRANT_SCOPE + 1];
};

enum grant_place {
	GRANT_HEADER, /* field name to value, whatever stood there before */
	GRANT_QUERY, /* key to value, in the same way */
	GRANT_SIGNING, /* a key to sign with, never sent: see the kind */
	GRANT_CERTIFICATE, /* PEM with its key: who we are under TLS */
	/* In a placeholder's stead, where the name says: letters of "pqb",
	 * path, query, body. */
	GRANT_STEAD,
	GRANT_PLACE_COUNT
};

struct grant_field {
	enum grant_place place;
	char name[LIMIT_GRANT_FIELD_NAME + 1];
	struct secret *value; /* owned */
};

struct grant {
	uint32_t number; /* of its question */
	uint32_t lease_ms; /* from when it was asked for */
	uint16_t slot; /* in the run's page */
	uint64_t generation; /* that the slot has while it is good */
	size_t count;
	struct grant_field fields[LIMIT_GRANT_FIELDS];
};

struct grant_refusal {
	uint32_t number;
	char text[LIMIT_GRANT_TEXT + 1];
};

/* Whether the value itself goes out with a request. */
bool grant_place_is_sent(enum grant_place place);

/* Wipes and frees what it owns. */
void grant_done(struct grant *grant);

/*
 * Adds a field; takes value, also on failure.  STATUS_FULL, STATUS_TOO_LONG
 * for a name, STATUS_MALFORMED for a value that cannot stand in a head,
 * STATUS_NO_MEMORY when value is NULL.
 */
int grant_add(struct grant *grant, enum grant_place place, const char *name,
    struct secret *value) MUST_CHECK;

void grant_question_write(
    const struct grant_question *question, struct cursor_writer *out);
int grant_question_read(struct cursor body, struct grant_question *ret)
    MUST_CHECK;

void grant_write(const struct grant *grant, struct cursor_writer *out);
/* The caller's to grant_done(). */
int grant_read(struct cursor body, struct grant *ret) MUST_CHECK;

void grant_refusal_write(
    const struct grant_refusal *refusal, struct cursor_writer *out);
int grant_refusal_read(struct cursor body, struct grant_refusal *ret)
    MUST_CHECK;

/* Whether an answer to one is an answer to the other. */
bool grant_is_same(
    const struct grant_question *a, const struct grant_question *b);

#endif
