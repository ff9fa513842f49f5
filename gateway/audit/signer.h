/*
 * signer - the key that an audit's checkpoints are signed with.
 *
 * An Ed25519 key in a file beside the database, DATABASE.key: 32 bytes, and
 * nobody's but its owner's.  Only the audit writer reads it.  Whoever has it
 * can sign another history; what was anchored elsewhere they cannot change.
 */
#ifndef GATEWAY_AUDIT_SIGNER_H
#define GATEWAY_AUDIT_SIGNER_H

#include "schema/cursor.h"
#include "schema/problem.h"

#define SIGNER_KEY 32 /* the public key's bytes */
#define SIGNER_SIGNATURE 64

struct signer;

/* Reads the key of this database, and makes one when there is none. */
int signer_open(const char *database, struct signer **ret,
    struct problem *reterr) MUST_CHECK;
void signer_free(struct signer *signer);

/* Borrows from signer. */
const uint8_t *signer_public(const struct signer *signer);

int signer_sign(const struct signer *signer, struct cursor text,
    uint8_t ret[SIGNER_SIGNATURE]) MUST_CHECK;

/* Whether signature is that of the key's owner over text. */
bool signer_verify(const uint8_t key[SIGNER_KEY], struct cursor text,
    const uint8_t signature[SIGNER_SIGNATURE]) MUST_CHECK;

#endif
