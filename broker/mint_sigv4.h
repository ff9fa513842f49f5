/*
 * mint_sigv4 - keys that sign for AWS on one day, in one region, for one
 * service.
 *
 * The secret access key stays here: what is granted is the key derived from
 * it for the scope of the question, "20150830/eu-central-1/s3", which the
 * credential must allow and whose day must be today's.  The grant has these
 * fields, all GRANT_SIGNING:
 *
 *   id     the access key id          key    32 bytes to sign with
 *   token  the session token, if any  check  32 bytes that the placeholder's
 *                                            secret gives, if there is one
 */
#ifndef BROKER_MINT_SIGV4_H
#define BROKER_MINT_SIGV4_H

#include "broker/mint.h"

struct json_t;

extern const struct mint mint_sigv4;

/* Which scopes a credential may sign for; both lists are owned. */
struct mint_sigv4_scope {
	void *regions, *services; /* arrays of texts, as JSON */
};

/* Reads "regions" and "services", which are required. */
void mint_sigv4_read(
    const struct reading *reading, struct mint_sigv4_scope *ret);
void mint_sigv4_done(struct mint_sigv4_scope *scope);

/* Whether a question's scope is allowed today; else work->why says so. */
bool mint_sigv4_admits(
    struct mint_work *work, const struct mint_sigv4_scope *scope) MUST_CHECK;

/* Keys as AWS gives them; token may be empty. */
struct mint_sigv4_keys {
	struct cursor id, secret, token;
};

/* Grants what signs for the question's scope. */
enum mint_step mint_sigv4_grant(struct mint_work *work,
    const struct mint_sigv4_keys *keys, uint32_t life_ms);

/* HMAC after HMAC over the parts of "day/region/service". */
bool mint_sigv4_derive(
    struct cursor secret, const char *scope, unsigned char ret[32]) MUST_CHECK;

#endif
