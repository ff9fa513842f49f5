/*
 * entry - one row of the audit by the names of its values, for exports.
 *
 * entry_page gives rows in their order, a page at a time: parameters after
 * (the last seq that was read), since (microseconds) and limit.  The cells of
 * one of its rows are an entry; they borrow from the database until the next.
 */
#ifndef GATEWAY_AUDIT_ENTRY_H
#define GATEWAY_AUDIT_ENTRY_H

#include "gateway/audit/query.h"
#include "schema/event.h"
#include "schema/json.h"

enum entry_field {
	ENTRY_SEQ,
	ENTRY_TS_US,
	ENTRY_AT, /* the same, as RFC 3339 in UTC */
	ENTRY_KIND, /* enum event_kind */
	ENTRY_VERDICT, /* enum event_verdict */
	ENTRY_REASON, /* its name; "none" is NULL */
	ENTRY_FAULT,
	ENTRY_CHAIN, /* of the database, in hex */
	ENTRY_RUN,
	ENTRY_TENANT,
	ENTRY_MACHINE,
	ENTRY_OWNER,
	ENTRY_AGENT,
	ENTRY_ON_BEHALF,
	ENTRY_JTI,
	ENTRY_POLICY, /* SHA-256 in hex */
	ENTRY_RULE,
	ENTRY_FLOW,
	ENTRY_REQ, /* hex */
	ENTRY_PARENT_SEQ,
	ENTRY_HOST,
	ENTRY_IP, /* 4 or 16 bytes */
	ENTRY_PORT,
	ENTRY_L7, /* enum event_l7 */
	ENTRY_TLS,
	ENTRY_VERB,
	ENTRY_OBJECT,
	ENTRY_STATUS,
	ENTRY_CRED,
	ENTRY_BYTES_OUT,
	ENTRY_BYTES_IN,
	ENTRY_DUR_US,
	ENTRY_DETAIL, /* a JSON object */
	ENTRY_SNI, /* from detail, as all that follow */
	ENTRY_CAUSE,
	ENTRY_ARGV,
	ENTRY_PID,
	ENTRY_PPID,
	ENTRY_SHA256,
	ENTRY_FIELDS
};

extern const char entry_page[];

bool entry_has(const struct query_cell *entry, enum entry_field field);
/* Empty when it is not known, and for numbers. */
struct cursor entry_text(
    const struct query_cell *entry, enum entry_field field);
/* -1 when it is not known. */
int64_t entry_number(const struct query_cell *entry, enum entry_field field);
enum event_kind entry_kind(const struct query_cell *entry);
enum event_verdict entry_verdict(const struct query_cell *entry);

/* Writes the value under key when it is known. */
void entry_put(const struct query_cell *entry, enum entry_field field,
    struct json *json, const char *key);
/* The address as text. */
void entry_put_ip(
    const struct query_cell *entry, struct json *json, const char *key);

/* What no other row anywhere has: the chain and the number in it. */
void entry_uid(const struct query_cell *entry, struct cursor_writer *out);
void entry_put_uid(
    const struct query_cell *entry, struct json *json, const char *key);

/* "1.3" when TLS was seen, whether or not it was read; else NULL. */
const char *entry_tls(const struct query_cell *entry);

/* Whether a person should see the row: an alert, or a refusal of policy. */
bool entry_is_alert(const struct query_cell *entry);

#endif
