/*
 * outside - our client side of TLS, facing the internet.
 *
 * The peer's certificate is verified against given roots and its names
 * against the host, always; nothing here can turn that off.  TLS 1.2 and 1.3.
 * Sessions are kept by host and port and resumed, LIMIT_SESSIONS at most; a
 * session is kept only behind a handshake that was verified.
 *
 * Roots are parsed when they are first needed, because a run that intercepts
 * nothing should not pay some milliseconds and megabytes for them.
 */
#ifndef GATEWAY_TLS_OUTSIDE_H
#define GATEWAY_TLS_OUTSIDE_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdint.h>

struct outside;
struct pool;
struct problem;
struct stream;

/*
 * roots is PEM text, of the machine or of a rule's upstream_ca; borrowed, must
 * outlive the context.  pool has buffers of STREAM_BUFFER and outlives all
 * streams, as does the context.  NULL: *reterr tells why.
 */
struct outside *outside_new(
    struct cursor roots, struct pool *pool, struct problem *reterr) MUST_CHECK;
void outside_free(struct outside *outside);

/*
 * Parses the roots now.  outside_connect() does it otherwise; both refuse
 * roots without a certificate.
 */
int outside_load(struct outside *outside, struct problem *reterr) MUST_CHECK;

struct outside_order {
	const char *host; /* canonical name, or the text of an address */
	uint16_t port; /* tells sessions apart */
	const char *const *alpn; /* offered, best first, NULL behind; or NULL */
	/*
	 * What is presented where the server asks for it: see clientcert; or
	 * empty.  who tells sessions with different ones apart.
	 */
	struct cursor certificate;
	const char *who;
	int fd;
};

/*
 * Takes order->fd.  Go on with stream_handshake(), which says STATUS_REFUSED
 * and why when the certificate does not hold.  NULL: *reterr tells why, and
 * fd stays the caller's.
 */
struct stream *outside_connect(struct outside *outside,
    const struct outside_order *order, struct problem *reterr) MUST_CHECK;

#endif
