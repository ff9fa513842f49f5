/*
 * flow - one connection of the sandbox: its two sides, its state, and the
 * only function that changes it.
 *
 * The states are rows of a table in flow/machine.c: what a state does when it
 * is entered, how long it may take, what may follow it.  flow_enter() is the
 * only writer of flow->state; it checks the row, logs the step and arms the
 * deadline.  A handler ends by entering another state or by leaving an event
 * behind that will.
 *
 * A flow dies through one door: flow_close() says why, the state CLOSING puts
 * its last row, and the table frees it at the end of the tick.
 */
#ifndef GATEWAY_FLOW_FLOW_H
#define GATEWAY_FLOW_FLOW_H

#include "gateway/flow/plane.h"
#include "gateway/proc/loop.h"
#include "gateway/proto/sniff.h"
#include "policy/verdict.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/reason.h"

#include <stdint.h>
#include <sys/queue.h>

enum flow_state {
	FLOW_ACCEPTED,
	FLOW_JUDGING,
	FLOW_PROXYING,
	FLOW_SNIFFING,
	FLOW_DIALING,
	FLOW_INTERCEPTING,
	FLOW_EXCHANGING,
	FLOW_TUNNELING,
	FLOW_REFUSING,
	FLOW_CLOSING,
	FLOW_CLOSED,
	FLOW_STATE_COUNT
};

struct budget_claim;
struct carrier;
struct classify;
struct dialing;
struct event;
struct explicit;
struct flow;
struct h1_server;
struct h2_server;
struct intercept;
struct leg;
struct outside;
struct program;
struct pump;
struct shuttle;
struct stack;
struct stream;

/* Who answers what is connected to. */
enum flow_role {
	FLOW_WORLD, /* somebody outside, if the policy allows it */
	FLOW_INTERNAL, /* we do: see flow/internal */
	FLOW_PROXY /* it is told where to: see flow/explicit */
};

struct flow_row {
	const char *name;
	void (*enter)(struct flow *flow);
	/* Frees what enter made, before the next state; may be NULL. */
	void (*leave)(struct flow *flow);
	/*
	 * The policy changed: judges what is under way again.  NULL where
	 * nothing is let through that will not be judged first.
	 */
	void (*judge_again)(struct flow *flow);
	int deadline_ms; /* 0: none */
	/* What follows when the deadline passes, and why. */
	enum flow_state late;
	enum reason late_reason;
	unsigned followers; /* bit 1 << state for each */
};

/* What a ClientHello told. */
struct flow_hello {
	struct hostname sni; /* not set: there was none */
	bool offers_http1, offers_h2, offers_alpn, offers_ech;
};

struct flow {
	TAILQ_ENTRY(flow) next;
	struct plane *plane;
	const struct flow_row *rows;
	enum flow_state state;
	enum flow_role role;
	bool ending; /* on its way to CLOSING: what is left may not ask again */
	bool one_request; /* the next may be for somebody else */
	struct event *deadline;
	struct loop_deferred freeing;

	int64_t id;
	int64_t opened_us; /* monotonic */
	struct endpoint wanted; /* where the program meant to go */
	struct endpoint from;
	bool datagrams; /* of UDP: it has ends, but no connection */
	bool by_name; /* wanted stands for host */
	struct hostname host;
	const char *proxy; /* how it was told where to; NULL: it was caught */
	/* Answers its requests, instead of somebody outside; or NULL. */
	struct leg *(*own_leg)(struct flow *flow);
	uint64_t sighting; /* who asks is being found out; or 0 */
	struct program *program; /* who asks; NULL: unknown */

	/* The sandbox's side: a descriptor until a stream or pump takes it. */
	int fd;
	unsigned char *early; /* first bytes, read and not yet passed on */
	size_t early_length, early_room;
	bool inside_ended; /* the client sent its end while we sniffed */

	enum sniff_protocol protocol;
	bool sniffed; /* protocol is known */
	bool speaks_h2; /* inside */
	bool reaches_h2; /* outside, when that was known before the inside */
	struct flow_hello hello;
	struct verdict verdict;
	struct stack *judge; /* that gave it; kept while it names a rule */
	struct budget_claim *connection; /* limits that it counts against */
	unsigned retry_s; /* when what it was refused for may be had; or 0 */

	/* The world's side; the same. */
	int outside_fd;
	struct endpoint upstream;

	/* What one state hands to the next; who takes it leaves NULL. */
	struct stream *inside;

	/* A connection outside that nobody else may have; see carriers. */
	struct carrier *carrier;
	const struct outside *trust; /* who is believed outside, once known */

	/* One each for the states that have something to keep. */
	struct explicit *explicit;
	struct classify *classify;
	struct dialing *dialing;
	struct intercept *intercept;
	struct h1_server *server;
	struct h2_server *h2_server;
	struct pump *tunnel;
	struct shuttle *shuttle; /* of datagrams */

	/* Why it was refused or ended; the first reason stands. */
	enum reason reason;
	char cause[128]; /* in words, where a library has some; or empty */
	bool opened; /* its first row was put */
	bool counted; /* its refusal is told by a row about many */
	bool tunneled; /* its bytes were passed on unread */

	/* For its rows. */
	int64_t open_seq; /* of its flow_open row; 0 until accepted */
	uint64_t requests; /* that have rows of their own */
	int64_t bytes_out, bytes_in;
};

/* Gives a flow in FLOW_ACCEPTED; takes fd, which is closed on failure too. */
struct flow *flow_new(struct plane *plane, const struct flow_row *rows, int fd,
    const struct endpoint *wanted, const struct endpoint *from) MUST_CHECK;

/* The table's business, at the end of the tick. */
void flow_free(struct flow *flow);

/* The only way to another state. */
void flow_enter(struct flow *flow, enum flow_state state);

/*
 * Refuses it: notes the reason and enters FLOW_REFUSING.  From then on the
 * flow is condemned: it goes through the same states only to be told so in
 * its own protocol.
 */
void flow_refuse(struct flow *flow, enum reason reason);

/* Ends it: notes the reason (REASON_NONE: a clean end), enters CLOSING. */
void flow_close(struct flow *flow, enum reason reason);

/* The policy changed. */
void flow_judge_again(struct flow *flow);

/*
 * Gives the sandbox's side for requests to be read from, deciphered or clear.
 * NULL when there is no memory.
 */
struct stream *flow_take_stream(struct flow *flow) MUST_CHECK;

bool flow_is_condemned(const struct flow *flow);

/* Requests that are not inside TLS, in either version. */
bool flow_is_clear_http(const struct flow *flow);

bool flow_is_closing(const struct flow *flow);

/* Gives the flow longer, or (0) as long as it likes. */
void flow_set_deadline(struct flow *flow, int ms);

/* "host:port" or "address:port", for logs and refusals. */
#define FLOW_TARGET_MAX (LIMIT_HOST + 8)
void flow_print_target(const struct flow *flow, char out[FLOW_TARGET_MAX]);

#endif
