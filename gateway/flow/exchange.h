/*
 * exchange - one request between two legs: judged, recorded, only then
 * relayed.
 *
 *   HEAD -> JUDGED -> CONSENTING -> GRANTING -> RECORDING -> RELAYING -> DONE,
 *   or REFUSED
 *
 * A rule that asks holds it in CONSENTING until a person has answered, one
 * that names a credential in GRANTING until that is lent; what has neither
 * passes both by.  A credential that cannot be had is a refusal, and never a
 * request without it; one that is revoked takes the request with it.
 *
 * This is the one place that keeps the promise: no byte of a request leaves
 * before the writer has accepted its row.  While the row is on its way, the
 * connection outside is made ready.  Once relaying, a failure is a reset on
 * both sides, never a clean end.
 *
 * An exchange that cannot be completed because a reused connection proved
 * dead is tried once more on a fresh one, if its request is idempotent, had
 * no body, and no byte of an answer came (RFC 9110 section 9.2.2).
 */
#ifndef GATEWAY_FLOW_EXCHANGE_H
#define GATEWAY_FLOW_EXCHANGE_H

#include "gateway/flow/leg.h"
#include "gateway/proto/head_fault.h"
#include "policy/urlpath.h"
#include "schema/reason.h"

struct exchange;
struct flow;

/*
 * Begins with a request that the server leg has read, and attaches to that
 * leg; it may be over when this returns, and then the leg has none.  request
 * and path are borrowed until the leg's release, the bytes behind the
 * request's cursors only until exchange_releases_head().
 * False when there is no memory.
 */
bool exchange_begin(struct flow *flow, struct leg *server,
    const struct request *request, const struct urlpath *path) MUST_CHECK;

/* The flow is closing: a row with this reason, both legs released. */
void exchange_abort(struct exchange *exchange, enum reason reason);

/*
 * The policy changed: ends it unless the new one allows it without asking.
 * What waits for a person is judged when its question is taken back.
 */
void exchange_judge_again(struct exchange *exchange);

/* Whether the request is on its way, or its body gathered, so that this may
 * come to its end. */
bool exchange_takes_end(const struct exchange *exchange);

/*
 * Whether a person, or the broker, is asked: a client that leaves meanwhile
 * gives up.
 */
bool exchange_is_held(const struct exchange *exchange);

/* Whether the head of the request is not needed any more. */
bool exchange_releases_head(const struct exchange *exchange);

/* From the client leg. */
void exchange_response(
    struct exchange *exchange, const struct response *response);

/*
 * From either leg: how much the other takes, a slice, the end, a failure.
 */
size_t exchange_room(const struct exchange *exchange, const struct leg *from);
void exchange_body(
    struct exchange *exchange, struct leg *from, struct cursor bytes);
void exchange_end(
    struct exchange *exchange, struct leg *from, const struct header *trailers);
void exchange_fail(
    struct exchange *exchange, struct leg *from, enum reason reason);

/* The client leg's head could not be read; bytes are borrowed for the call. */
void exchange_fail_unread(struct exchange *exchange, struct leg *client,
    enum head_fault fault, struct cursor bytes);

/* What was given to leg has left it: the other may go on. */
void exchange_drained(struct exchange *exchange, struct leg *leg);

/* Sends what both legs were given. */
void exchange_flush(struct exchange *exchange);

#endif
