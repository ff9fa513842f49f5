/*
 * issued - what an issuer's answer comes to: a token and its life, or why
 * there is none.
 *
 * Issuers tell failures in four ways (RFC 6749 section 5.2, GitHub, Google,
 * Vault and AWS); issued_want() asks for all of them, so that the owner reads
 * the issuer's own words.
 */
#ifndef BROKER_ISSUED_H
#define BROKER_ISSUED_H

#include "broker/mint.h"
#include "schema/errand.h"

struct parcel;

/* Wants of the parcel's answer what tells a failure. */
void issued_want(struct parcel *parcel);

/* Sends the parcel off; takes nothing: it stays in work->state. */
enum mint_step issued_send(struct mint_work *work, struct parcel *parcel);

/*
 * Whether the answer is a success; else work->why says what it was, and the
 * caller gives MINT_REFUSED.
 */
bool issued_well(struct mint_work *work, const struct errand_answer *answer)
    MUST_CHECK;

/* A life in seconds that stands in the answer, as so many milliseconds. */
uint32_t issued_life(const struct errand_answer *answer, const char *name);

/* From now_s to a time such as 2026-01-31T12:00:00Z; 0 when it is none. */
uint32_t issued_until(struct cursor text, int64_t now_s);

/*
 * Grants the value of that name as "Authorization: Bearer"; refuses when it is
 * not there.
 */
enum mint_step issued_bearer(struct mint_work *work,
    const struct errand_answer *answer, const char *name, uint32_t life_ms);

/* Adds a header field of first and second put together. */
enum mint_step issued_header(struct mint_work *work, const char *name,
    const char *first, struct cursor second);

#endif
