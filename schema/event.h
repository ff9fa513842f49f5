/*
 * event - one audit record on its way from a producer to the writer.
 *
 * Which run an event belongs to is not in it: the channel it comes on says
 * so.  Text is borrowed by cursors, from the producer's memory on the way in
 * and from the frame on the way out.  A number below zero, a cursor of length
 * 0 and an unset address are "not known" and become NULL in the database.
 *
 * FRAME_AUDIT_EVENTS holds one or more blocks, each one event as written by
 * event_write().  The writer answers with FRAME_AUDIT_ACCEPTED.
 */
#ifndef SCHEMA_EVENT_H
#define SCHEMA_EVENT_H

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/reason.h"

/* audit.md section 2; numbers are stored and never reused. */
enum event_kind {
	EVENT_HTTP = 1,
	EVENT_FLOW_END = 2,
	EVENT_FLOW_OPEN = 3,
	EVENT_HTTP_INTENT = 4,
	EVENT_DNS = 5,
	EVENT_TOKEN_ISSUE = 6,
	EVENT_TOKEN_EXCHANGE = 7,
	EVENT_TOKEN_REVOKE = 8,
	EVENT_CRED_MINT = 9,
	EVENT_APPROVAL_ASK = 10,
	EVENT_APPROVAL_DECISION = 12,
	EVENT_POLICY_LOAD = 13,
	EVENT_ADMIN = 14,
	EVENT_SANDBOX_START = 15,
	EVENT_SANDBOX_END = 16,
	EVENT_ALERT = 17,
	EVENT_AUDIT = 18,
	EVENT_MCP_CALL = 19,
	EVENT_EXEC = 20,
	EVENT_EXEC_EXIT = 21,
	EVENT_TOKEN_REFUSED = 22,
	EVENT_KIND_END = 23
};

enum event_verdict {
	EVENT_INFO,
	EVENT_ALLOW,
	EVENT_DENY,
	EVENT_WOULD_DENY,
	EVENT_ERROR,
	EVENT_PENDING,
	EVENT_VERDICT_COUNT
};

enum event_l7 {
	EVENT_L7_TCP,
	EVENT_L7_HTTP1,
	EVENT_L7_H2,
	EVENT_L7_H3,
	EVENT_L7_WS,
	EVENT_L7_DNS,
	EVENT_L7_GRPC,
	EVENT_L7_MCP,
	EVENT_L7_EXEC,
	EVENT_L7_INTERNAL,
	EVENT_L7_UDP,
	EVENT_L7_COUNT
};

/* How long its producer waits for it. */
enum event_wait {
	EVENT_NO_WAIT, /* queued; nobody waits */
	EVENT_WAIT_COMMIT, /* until the row survives a crash of any process */
	EVENT_WAIT_DISK, /* until it survives a power cut */
	EVENT_WAIT_COUNT
};

#define EVENT_REQ_ID 16

struct event {
	uint64_t number; /* the producer's own, rising by one from 1 */
	enum event_wait wait;
	enum event_kind kind;
	enum event_verdict verdict;
	enum reason reason;
	int64_t ts_us; /* wall clock, microseconds since 1970 */
	int64_t flow_id; /* -1: none */
	/* The row this one belongs to; 0: not numbered yet; -1: none. */
	int64_t parent_seq;
	struct cursor req_id; /* EVENT_REQ_ID bytes or none */
	struct cursor host; /* canonical name, or the text of a literal */
	struct address dst_ip;
	int64_t dst_port;
	int64_t l7; /* enum event_l7, or -1 */
	int64_t tls; /* 0x0304; negative of it: not decrypted; 0 none */
	struct cursor verb;
	struct cursor object; /* path without query values */
	int64_t status;
	struct cursor rule; /* the rule's id; its policy is the run's */
	struct cursor policy; /* SHA-256 of the layer the rule stands in */
	struct cursor cred;
	int64_t bytes_out, bytes_in, dur_us;
	struct cursor detail; /* JSON object */
};

/* Everything "not known"; kind, verdict and time are the caller's to set. */
struct event event_empty(void);

/* Names as they stand in the database; NULL for what is not in the list. */
const char *event_kind_name(unsigned kind);
const char *event_verdict_name(unsigned verdict);
const char *event_l7_name(unsigned l7);

/*
 * What the counts of a run mean.  A refusal is a row with the verdict deny,
 * of any kind but a person's decision.  A request is an http_intent; an http
 * row without an intent; a flow_open row of a flow that is passed through or is
 * no HTTP (tls below 0, or l7 is tcp or udp), or a flow_end row without one;
 * and every refusal that none of these has counted before.  Of a pair only the
 * first row counts, unless an allowed intent ends in a refusal.
 */
bool event_is_request(const struct event *event);
bool event_is_refusal(const struct event *event);

/* Appends one event as a block. */
void event_write(const struct event *event, struct cursor_writer *out);

/*
 * Takes one block from body, checks every length, range and enum, and that
 * detail is one JSON object.  STATUS_MALFORMED ends the producer.
 */
int event_read(struct cursor *body, struct event *ret) MUST_CHECK;

/* ---- the rest of the audit channel ---- */

enum event_role {
	EVENT_ROLE_PARENT,
	EVENT_ROLE_GATEWAY,
	EVENT_ROLE_LAUNCHER,
	EVENT_ROLE_BROKER,
	EVENT_ROLE_COUNT
};

/*
 * FRAME_AUDIT_RUN: the first frame of a parent's connection.  The writer
 * answers FRAME_AUDIT_STATE when the run's first row is on the disk; a
 * connection that ends without it was refused.
 */
enum event_sync {
	EVENT_SYNC_AUTO, /* the disk is waited for where an event asks for it */
	EVENT_SYNC_FULL, /* for every row */
	EVENT_SYNC_NORMAL, /* never: a power cut may lose the last rows */
	EVENT_SYNC_COUNT
};
const char *event_sync_name(enum event_sync sync);

struct event_run {
	enum event_sync sync;
	char uid[LIMIT_RUN_UID + 1];
	char principal[LIMIT_PRINCIPAL + 1];
	char owner[LIMIT_PRINCIPAL + 1];
	char host[LIMIT_HOST + 1];
	char image[LIMIT_PRINCIPAL + 1]; /* of the command's program */
	struct cursor detail; /* JSON object: command, workspace */
};
void event_run_write(const struct event_run *run, struct cursor_writer *out);
int event_run_read(struct cursor body, struct event_run *ret) MUST_CHECK;

/* FRAME_AUDIT_PRODUCER: a channel for a sibling of the same run. */
void event_producer_write(enum event_role role, struct cursor_writer *out);
int event_producer_read(struct cursor body, enum event_role *ret) MUST_CHECK;

/* FRAME_AUDIT_POLICY: one layer, its text in the descriptor. */
struct event_policy {
	uint8_t sha256[32];
	char loaded_by[LIMIT_PRINCIPAL + 1];
	char name[LIMIT_RULE_TEXT + 1];
};
void event_policy_write(
    const struct event_policy *policy, struct cursor_writer *out);
int event_policy_read(struct cursor body, struct event_policy *ret) MUST_CHECK;

/* FRAME_AUDIT_END: how the run ended; the writer answers AUDIT_CLOSED. */
struct event_end {
	int64_t status; /* exit code */
	char end[32]; /* exited, signaled, timeout, launch_failed … */
	struct cursor detail; /* JSON object or empty */
};
void event_end_write(const struct event_end *end, struct cursor_writer *out);
int event_end_read(struct cursor body, struct event_end *ret) MUST_CHECK;

/*
 * FRAME_AUDIT_ACCEPTED: everything up to number is a row; for those that
 * were waited for, pairs of number and seq follow.
 */
#define EVENT_ACCEPTED_PAIRS 2000
struct event_accepted {
	uint64_t number;
	struct cursor pairs; /* 16 bytes each: number, seq */
};
void event_accepted_begin(uint64_t number, struct cursor_writer *out);
/* Replaces the number of a frame that was begun when used was place. */
void event_accepted_patch(
    uint64_t number, size_t place, struct cursor_writer *out);
void event_accepted_pair(
    uint64_t number, int64_t seq, struct cursor_writer *out);
int event_accepted_read(struct cursor body, struct event_accepted *ret)
    MUST_CHECK;
bool event_accepted_next(
    struct event_accepted *accepted, uint64_t *ret_number, int64_t *ret_seq);

/* FRAME_AUDIT_STATE: whether new rows are taken. */
void event_state_write(bool available, struct cursor_writer *out);
int event_state_read(struct cursor body, bool *ret) MUST_CHECK;

/* FRAME_AUDIT_CLOSED: the run's last row is on the disk; its counts. */
struct event_closed {
	int64_t first_seq, last_seq;
	uint64_t requests, refused;
};
void event_closed_write(
    const struct event_closed *closed, struct cursor_writer *out);
int event_closed_read(struct cursor body, struct event_closed *ret) MUST_CHECK;

#endif
