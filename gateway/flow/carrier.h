/*
 * carrier - a connection outside that carries requests: HTTP/1.1 one after
 * another, HTTP/2 many at once.
 *
 * All of a run belong to its carriers; what is here is what these know of
 * one, and is embedded in h1_client and h2_client.
 */
#ifndef GATEWAY_FLOW_CARRIER_H
#define GATEWAY_FLOW_CARRIER_H

#include "gateway/flow/badge.h"
#include "gateway/proto/message.h"
#include "schema/address.h"
#include "schema/hostname.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct carrier;
struct carriers;
struct flow;
struct leg;
struct outside;
struct request;

/*
 * What two connections have in common when either will do: who answers
 * there, how it is known that it is he, and what is spoken.
 */
struct carrier_key {
	struct hostname name; /* not set: literal is all there is */
	struct address literal; /* not set: it was resolved from name */
	uint16_t port;
	bool clear_h2; /* HTTP/2 without TLS: both ends know */
	const struct outside *trust; /* NULL: in the clear */
	struct badge badge; /* who we are there */
};

/* What a request wants of a connection. */
enum carrier_need {
	CARRIER_ANY,
	CARRIER_HTTP1, /* all of it: protocols are switched on it */
	CARRIER_SWITCH /* that, or a stream that can switch (RFC 8441) */
};

struct carrier_ops {
	/* HTTP/2: whether streams can switch protocols. */
	bool (*takes_connect)(const struct carrier *carrier);
	/* HTTP/2: whether one more request fits beside the others. */
	bool (*has_room)(const struct carrier *carrier);
	/* A leg for one more request; NULL when it is over, and dropped. */
	struct leg *(*open)(
	    struct carrier *carrier, const struct request *request);
	/*
	 * Closes it, and frees it at the end of the tick; what is under way
	 * is told of a failure.
	 */
	void (*close)(struct carrier *carrier);
};

struct carrier {
	const struct carrier_ops *ops;
	enum message_version version;
	struct carriers *carriers;
	TAILQ_ENTRY(carrier) next, next_resting;
	struct carrier_key key;
	struct endpoint to;
	struct flow *holder; /* whose alone it is while it rests; or NULL */
	bool resting, retired;
	int64_t since_us; /* resting; monotonic */
};

#endif
