/*
 * awssign - signatures of AWS Signature Version 4, with a key that is good for
 * one day, one region and one service.
 *
 * The secret that such a key was derived from is the broker's.  Digests and
 * signatures are lower-case hexadecimal digits.
 */
#ifndef GATEWAY_FLOW_AWSSIGN_H
#define GATEWAY_FLOW_AWSSIGN_H

#include "schema/cursor.h"

#define AWSSIGN_HEX 64
#define AWSSIGN_KEY 32

/*
 * The key that a secret gives for a scope; used for placeholders, which are no
 * secrets.
 */
bool awssign_derive(struct cursor secret, struct cursor scope,
    unsigned char ret[AWSSIGN_KEY]) MUST_CHECK;

/* What every signature of one request has in common. */
struct awssign {
	struct cursor key; /* AWSSIGN_KEY bytes */
	struct cursor time; /* 20150830T123600Z */
	struct cursor scope; /* 20150830/us-east-1/s3/aws4_request */
};

/*
 * false when the library fails, and then *ret is not to be used.  canonical is
 * what awsform_write() wrote; previous is the signature before this one; data
 * and trailers are digests.
 */
bool awssign_request(const struct awssign *sign, struct cursor canonical,
    char ret[AWSSIGN_HEX]) MUST_CHECK;
bool awssign_chunk(const struct awssign *sign, struct cursor previous,
    struct cursor data, char ret[AWSSIGN_HEX]) MUST_CHECK;
bool awssign_trailer(const struct awssign *sign, struct cursor previous,
    struct cursor trailers, char ret[AWSSIGN_HEX]) MUST_CHECK;

/* SHA-256 of what is put in piece after piece. */
struct awssign_digest;

struct awssign_digest *awssign_digest_new(void) MUST_CHECK;
void awssign_digest_free(struct awssign_digest *digest);
bool awssign_digest_put(struct awssign_digest *digest, struct cursor bytes)
    MUST_CHECK;
/* Gives what it is of, and begins anew. */
bool awssign_digest_take(struct awssign_digest *digest, char ret[AWSSIGN_HEX])
    MUST_CHECK;

/* Takes the same time for every guess. */
bool awssign_equals(const char signature[AWSSIGN_HEX], struct cursor guess);

#endif
