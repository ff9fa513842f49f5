/*
 * frame - one typed message between two of our own programs.
 *
 * A frame is one SOCK_SEQPACKET packet: a 16 bit type, then the body, at most
 * LIMIT_FRAME bytes in all, with the descriptors its type calls for.  Every
 * type of every channel stands here, so that no number means two things; the
 * bodies are in the header named beside them.  schema/PROTOCOL.md shows them
 * byte by byte.
 *
 * A frame of an unknown type, with bytes left over, or with other descriptors
 * than its type has, ends the channel it came on.
 */
#ifndef SCHEMA_FRAME_H
#define SCHEMA_FRAME_H

#include "schema/cursor.h"
#include "schema/limits.h"

enum frame_type {
	/* parent and gateway: schema/order.h */
	FRAME_ORDER_LAYER = 0x0101, /* one descriptor: the policy text */
	FRAME_ORDER_BEGIN = 0x0102,
	FRAME_ORDER_STOP = 0x0103,
	FRAME_ORDER_SWAP = 0x0104, /* the layers sent since are the policy */
	FRAME_ORDER_LURE = 0x0105, /* a placeholder of the sandbox's */
	FRAME_ORDER_VIA = 0x0106, /* the house's own proxy */
	FRAME_ORDER_READY = 0x0181,
	FRAME_ORDER_FAILED = 0x0182,
	FRAME_ORDER_TALLY = 0x0183,
	FRAME_ORDER_SWAPPED = 0x0184,
	FRAME_ORDER_KEPT = 0x0185, /* why the old policy stays in force */

	/* launcher and gateway: schema/handoff.h */
	FRAME_HANDOFF_OFFER = 0x0201, /* HANDOFF_FD_COUNT descriptors */
	FRAME_HANDOFF_TRUST = 0x0281, /* what the sandbox trusts */

	/* parent and launcher: schema/reins.h */
	FRAME_REINS_GO = 0x0901, /* the command may be started */
	FRAME_REINS_PAUSE = 0x0902,
	FRAME_REINS_RESUME = 0x0903,
	FRAME_REINS_STOP = 0x0904,
	FRAME_REINS_EXEC = 0x0905, /* REINS_EXEC_FDS descriptors */
	FRAME_REINS_DROP = 0x0906, /* nobody waits for an exec any more */
	FRAME_REINS_DONE = 0x0981,
	FRAME_REINS_EXITED = 0x0982, /* of an exec */
	FRAME_REINS_TERMINAL = 0x0983, /* one descriptor: an exec's */

	/* producers and the audit writer: schema/event.h */
	FRAME_AUDIT_RUN = 0x0301,
	FRAME_AUDIT_PRODUCER = 0x0302, /* one descriptor: its channel */
	FRAME_AUDIT_POLICY = 0x0303, /* one descriptor: the policy text */
	FRAME_AUDIT_EVENTS = 0x0304,
	FRAME_AUDIT_END = 0x0305,
	FRAME_AUDIT_CHORE = 0x0306, /* schema/chore.h */
	FRAME_AUDIT_ACCEPTED = 0x0381,
	FRAME_AUDIT_STATE = 0x0382,
	FRAME_AUDIT_CLOSED = 0x0383,
	FRAME_AUDIT_LOADED = 0x0384,
	FRAME_AUDIT_DONE = 0x0385, /* of a chore */

	/* a command of the owner's and a run: schema/order.h, approval.h */
	FRAME_DESK_LIST = 0x0401, /* what is asked */
	FRAME_DESK_PLACES = 0x0402, /* what the sandbox can write */
	FRAME_DESK_ANSWER = 0x0403,
	FRAME_DESK_LAYER = 0x0404, /* one descriptor: the policy text */
	FRAME_DESK_SWAP = 0x0405,
	FRAME_DESK_INFO = 0x0406, /* of a run, and what follows */
	FRAME_DESK_PAUSE = 0x0407,
	FRAME_DESK_RESUME = 0x0408,
	FRAME_DESK_STOP = 0x0409,
	FRAME_DESK_EXEC = 0x040A, /* REINS_EXEC_FDS descriptors */
	FRAME_DESK_REVOKE = 0x0410, /* a credential: schema/brokerage.h */
	FRAME_DESK_QUESTION = 0x0481,
	FRAME_DESK_PLACE = 0x0482,
	FRAME_DESK_DONE = 0x0483, /* a problem, or empty texts */
	FRAME_DESK_TOLD = 0x0484,
	FRAME_DESK_EXITED = 0x0485,
	FRAME_DESK_TERMINAL = 0x0486, /* one descriptor: the exec's */

	/* parent and gateway about questions: schema/approval.h */
	FRAME_APPROVAL_ANSWER = 0x0501,
	FRAME_APPROVAL_ASK = 0x0581,
	FRAME_APPROVAL_OVER = 0x0582,

	/* the broker and exeat-fetch: schema/errand.h */
	FRAME_ERRAND_ENDPOINT = 0x0801,
	FRAME_ERRAND_SEAL = 0x0802, /* no endpoint follows */
	FRAME_ERRAND_ASK = 0x0803,
	FRAME_ERRAND_READY = 0x0881,
	FRAME_ERRAND_ANSWER = 0x0882,

	/* a gateway and its lookout: schema/sighting.h */
	FRAME_SIGHTING_PLACE = 0x0a01, /* one descriptor: sock_diag */
	FRAME_SIGHTING_ASK = 0x0a02,
	FRAME_SIGHTING_FOUND = 0x0a81,

	/* parent and broker: schema/brokerage.h */
	FRAME_BROKER_FILE = 0x0601, /* one descriptor: the credential file */
	FRAME_BROKER_HAVE = 0x0602, /* one descriptor: what was wanted */
	FRAME_BROKER_LACK = 0x0603, /* or why it cannot be had */
	FRAME_BROKER_NEED = 0x0604, /* a credential that the policy names */
	FRAME_BROKER_BEGIN = 0x0605,
	FRAME_BROKER_STOP = 0x0606,
	FRAME_BROKER_REVOKE = 0x0607,
	FRAME_BROKER_WANT = 0x0681, /* where a secret comes from */
	FRAME_BROKER_PROBLEM = 0x0682, /* one of the credential file's */
	FRAME_BROKER_VARIABLE = 0x0683, /* a placeholder for the sandbox */
	FRAME_BROKER_READY = 0x0684,
	FRAME_BROKER_FAILED = 0x0685, /* behind the problems, if any */
	FRAME_BROKER_REVOKED = 0x0686, /* a problem, or empty texts */

	/* gateway and broker: schema/grant.h */
	FRAME_GRANT_ASK = 0x0701,
	FRAME_GRANT_GIVEN = 0x0781,
	FRAME_GRANT_REFUSED = 0x0782,
	FRAME_GRANT_PAGE = 0x0783, /* one descriptor: the run's counters */

	/* the same channel: schema/token.h */
	FRAME_TOKEN_ASK = 0x0702,
	FRAME_TOKEN_GIVEN = 0x0784,
	FRAME_TOKEN_REFUSED = 0x0785,
	FRAME_TOKEN_ROOT = 0x0786 /* behind the page, when there is one */
};

struct frame {
	uint16_t type;
	struct cursor body; /* borrows from the packet */
};

/* Reads a packet; STATUS_MALFORMED when it has no type. */
int frame_parse(const void *packet, size_t length, struct frame *ret)
    MUST_CHECK;

/* Starts a packet of this type in a buffer of size bytes. */
struct cursor_writer frame_begin(uint16_t type, void *packet, size_t size);

/* Whether such a frame carries a secret: its bytes are wiped once used. */
bool frame_is_secret(uint16_t type);

/* How many descriptors ride on a frame of this type; -1 if it is unknown. */
int frame_descriptors(uint16_t type);

#endif
