/*
 * awsauth - the Authorization field of AWS Signature Version 4, in parts.
 *
 *   AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request,
 *       SignedHeaders=a;b;c, Signature=64 hexadecimal digits
 *
 * Each part exactly once, in any order.  The names of signed headers are lower
 * case and rise, as every client writes them: so there is one way to read
 * them.  Cursors borrow from what was read.
 */
#ifndef GATEWAY_PROTO_AWSAUTH_H
#define GATEWAY_PROTO_AWSAUTH_H

#include "schema/cursor.h"

#define AWSAUTH_SIGNATURE 64 /* hexadecimal digits of SHA-256 */
#define AWSAUTH_DATE 8 /* 20150830 */
#define AWSAUTH_TIME 16 /* 20150830T123600Z */

struct awsauth {
	struct cursor key_id;
	struct cursor scope; /* DATE/REGION/SERVICE/aws4_request */
	struct cursor date, region, service;
	struct cursor names; /* a;b;c */
	struct cursor signature;
};

/*
 * STATUS_OK; STATUS_NOT_FOUND when value has nothing to do with AWS;
 * STATUS_REFUSED for an algorithm of AWS's that is not this one (SigV4a);
 * STATUS_MALFORMED.
 */
int awsauth_parse(struct cursor value, struct awsauth *ret) MUST_CHECK;

/* Whether text is a time as x-amz-date has it: 20150830T123600Z. */
bool awsauth_is_time(struct cursor text);

/*
 * Whether a query carries a signature (a presigned URL): a key of it, decoded
 * or not, is one of those that sign.
 */
bool awsauth_query_is_signed(struct cursor query);

#endif
