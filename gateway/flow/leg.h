/*
 * leg - the shape of one side of an exchange.
 *
 * The server leg faces the sandbox and gets the response; the client leg
 * faces the world and gets the request.  What a leg is given it keeps until
 * flush; how much of a body it takes now, room tells.  A leg calls the
 * exchange_*() functions with what its peer sends, and never while it is
 * being called by the exchange itself, but from its own events or from pull.
 */
#ifndef GATEWAY_FLOW_LEG_H
#define GATEWAY_FLOW_LEG_H

#include "gateway/proto/header.h"
#include "schema/address.h"
#include "schema/cursor.h"

#include <stdbool.h>
#include <stdint.h>

struct exchange;
struct leg;
struct refusal;
struct request;
struct response;

/* A request as it was judged. */
struct leg_request {
	const uint8_t *id; /* as in its rows; EVENT_REQ_ID bytes */
	const struct request *head;
	struct cursor path; /* canonical */
};

/* What is to become of the connection. */
enum leg_end {
	LEG_REUSE, /* both messages were whole: it may serve another */
	LEG_CLOSE, /* an end that the peer can read to */
	LEG_RESET /* the message is broken off, and must not look whole */
};

struct leg_ops {
	/* Client legs: false when the head does not fit. */
	bool (*request)(struct leg *leg, const struct leg_request *request);
	/* Server legs: interim ones too; false when it does not fit. */
	bool (*respond)(struct leg *leg, const struct response *response);
	/* Server legs: instead of a response; ends the exchange's part. */
	void (*refuse)(struct leg *leg, const struct refusal *refusal);

	/* How many bytes of a body it takes now. */
	size_t (*room)(const struct leg *leg);
	/* Takes bytes, at most what room said. */
	void (*body)(struct leg *leg, struct cursor bytes);
	/* The body is over; trailers may be NULL. */
	void (*finish)(struct leg *leg, const struct header *trailers);

	/* The other side has room again: go on reading from the peer. */
	void (*pull)(struct leg *leg);
	/* Sends what was given. */
	void (*flush)(struct leg *leg);

	/* The exchange is over for this leg. */
	void (*release)(struct leg *leg, enum leg_end end);

	/* Bytes of messages on this leg so far, heads and framing included. */
	uint64_t (*sent)(const struct leg *leg);
	uint64_t (*received)(const struct leg *leg);
};

struct leg {
	const struct leg_ops *ops;
	struct exchange *exchange; /* NULL between exchanges */
	struct endpoint to; /* client legs: where it leads */
	/* Client legs: the peer says that it has not looked at the request. */
	bool unprocessed;
};

#endif
