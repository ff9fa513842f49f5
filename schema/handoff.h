/*
 * handoff - what a launcher and a gateway tell each other about one sandbox.
 *
 * The launcher offers the sockets that were born in the sandbox's network
 * namespace; the gateway answers, once it listens, with the trust bundle to
 * lay into the sandbox.  Only then does the command start.
 */
#ifndef SCHEMA_HANDOFF_H
#define SCHEMA_HANDOFF_H

#include "schema/address.h"
#include "schema/cursor.h"

/* The order in which the descriptors ride on FRAME_HANDOFF_OFFER. */
enum handoff_fd {
	HANDOFF_TCP4,
	HANDOFF_TCP6,
	HANDOFF_UDP4, /* port 53, with IP_PKTINFO */
	HANDOFF_UDP6,
	HANDOFF_DIAG, /* NETLINK_SOCK_DIAG */
	HANDOFF_ANY4, /* every other UDP port, with IP_RECVORIGDSTADDR */
	HANDOFF_ANY6,
	HANDOFF_RAW4, /* IPPROTO_RAW: whole packets into the sandbox */
	HANDOFF_RAW6,
	HANDOFF_FD_COUNT
};

/* The order in which they ride on FRAME_HANDOFF_TRUST. */
enum handoff_trust {
	HANDOFF_BUNDLE, /* PEM */
	HANDOFF_KEYSTORE, /* the same certificates for Java */
	HANDOFF_TRUST_COUNT
};

/* How connections are caught; the order of preference. */
enum handoff_mode {
	HANDOFF_TPROXY,
	HANDOFF_ANYIP, /* no nf_tables here: listeners on named ports */
	HANDOFF_MODE_COUNT
};

struct handoff_offer {
	enum handoff_mode mode;
	struct address own4, own6; /* the sandbox's own addresses */
};

const char *handoff_mode_name(enum handoff_mode mode);

/* The body of FRAME_HANDOFF_OFFER. */
void handoff_offer_write(
    const struct handoff_offer *offer, struct cursor_writer *out);
int handoff_offer_read(struct cursor body, struct handoff_offer *ret)
    MUST_CHECK;

#endif
