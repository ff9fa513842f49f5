/*
 * sigv4 - an AWS request that the sandbox has signed with a placeholder,
 * signed anew with a key that the broker has derived.
 *
 * The client's own signature is verified first, where the run has a
 * placeholder to verify it with.  Region, service and day are the client's and
 * must be allowed by the credential; its time must be now.  What it had signed
 * is signed again, and so is everything of AWS's own.
 *
 * A body is either hashed in the head, and the origin sees to it; or not
 * signed; or signed chunk by chunk, and then each chunk is verified and signed
 * anew before it goes on, with the same length.  Refused are presigned URLs,
 * SigV4a, and a body of unknown hash where the head must have it.
 */
#ifndef GATEWAY_FLOW_SIGV4_H
#define GATEWAY_FLOW_SIGV4_H

#include "gateway/flow/outbox.h"
#include "gateway/proto/request.h"
#include "schema/grant.h"

struct sigv4;

/* What it takes to sign one request. */
struct sigv4_order {
	const struct request *head;
	struct cursor path; /* as it will be sent */
	const struct grant *grant;
	const char *placeholder; /* the sandbox's secret key, or NULL */
	int64_t now_s;
};

/*
 * The scope that the head was signed for, "20150830/eu-central-1/s3", for the
 * broker's question; empty when it was not signed for AWS.
 */
void sigv4_scope(const struct request *head, char out[LIMIT_GRANT_SCOPE + 1]);

/* Whether a grant is one to sign with. */
bool sigv4_is_for(const struct grant *grant);

/*
 * Signs: *ret_head is a copy of order->head with other fields, and borrows
 * from both.  NULL: *ret_why says why not, in words.
 */
struct sigv4 *sigv4_sign(const struct sigv4_order *order,
    struct request *ret_head, const char **ret_why) MUST_CHECK;
void sigv4_free(struct sigv4 *sigv4);

/* Whether its body has to pass through sigv4_body(). */
bool sigv4_signs_body(const struct sigv4 *sigv4);

/*
 * Takes bytes of the body and puts into out what may go on.  STATUS_MALFORMED
 * for what is not signed as it must be, STATUS_FULL.
 */
int sigv4_body(struct sigv4 *sigv4, struct cursor bytes, struct outbox *out)
    MUST_CHECK;

/* Whether the body is whole. */
bool sigv4_is_over(const struct sigv4 *sigv4);

#endif
