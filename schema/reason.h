/*
 * reason - why a peer was refused: one closed list, the same on every layer.
 *
 * Numbers are stored in audit databases and never reused; ids are read by
 * programs and never changed; words are for people.  A refusal over DNS
 * carries the EDE code (RFC 8914), over HTTP the status (RFC 9110), over TLS
 * the alert (RFC 8446 section 6), all from one row of one table.
 */
#ifndef SCHEMA_REASON_H
#define SCHEMA_REASON_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By the number that the audit stores. */
enum reason {
	REASON_NONE = 0,
	/* the policy's doing */
	REASON_NO_RULE = 1,
	REASON_DENIED = 2,
	REASON_METHOD = 3,
	REASON_PATH = 4,
	REASON_SPECIAL_ADDRESS = 5,
	REASON_DNS_POLICY = 6,
	REASON_SNI_MISMATCH = 7,
	REASON_UPSTREAM_TLS = 8,
	REASON_BUDGET = 10,
	REASON_RATE = 11,
	REASON_APPROVAL_NEEDED = 12,
	REASON_APPROVAL_DENIED = 13,
	REASON_PLACEHOLDER_LEAK = 16,
	REASON_HOST_MISMATCH = 18,
	REASON_UPGRADE = 19,
	REASON_POLICY_CHANGED = 20,
	/* of a token that was shown */
	REASON_BAD_TOKEN = 30,
	REASON_TOKEN_EXPIRED = 31,
	REASON_REVOKED = 32,
	REASON_WRONG_RUN = 33,
	REASON_WRONG_AUDIENCE = 34,
	REASON_ATTENUATION = 35,
	/* the client's doing */
	REASON_MALFORMED = 40,
	REASON_AMBIGUOUS = 41,
	REASON_CLIENT_ABORT = 42,
	REASON_CLIENT_TIMEOUT = 43,
	/* the other side's doing */
	REASON_UPSTREAM_REFUSED = 60,
	REASON_UPSTREAM_TIMEOUT = 61,
	REASON_UPSTREAM_RESET = 62,
	REASON_UPSTREAM_UNRESOLVED = 64,
	REASON_UPSTREAM_MALFORMED = 65,
	/* our own */
	REASON_AUDIT_UNAVAILABLE = 80,
	REASON_CREDENTIAL_UNAVAILABLE = 81,
	REASON_OVERLOAD = 82,
	REASON_STOPPING = 83,
	REASON_UNSUPPORTED = 84
};

enum reason_fault {
	FAULT_POLICY,
	FAULT_CLIENT,
	FAULT_UPSTREAM,
	FAULT_GATEWAY,
	FAULT_COUNT
};

struct reason_entry {
	const char *id; /* stable, for programs: "no_rule" */
	const char *title; /* short, for people */
	const char *advice; /* what to do about it; a whole sentence */
	enum reason reason;
	enum reason_fault fault;
	uint16_t http_status;
	uint16_t ede;
	uint8_t tls_alert;
};

/* Never NULL: a number that is not in the list gives REASON_NONE's entry. */
const struct reason_entry *reason_entry(enum reason reason);
const char *reason_id(enum reason reason);
bool reason_is_known(unsigned number);
const char *reason_fault_name(enum reason_fault fault);

/* All entries in order of number, for the audit's dictionary; gives count. */
const struct reason_entry *reason_entries(size_t *ret_count);

#endif
