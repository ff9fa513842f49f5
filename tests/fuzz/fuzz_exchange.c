/*
 * h1_server, exchange and h1_client, with what lies between accept and them:
 * a client, an origin and an audit writer are played by the input, each byte
 * of a step when and as it says.
 *
 * However they mix: no byte reaches an origin before as many requests were
 * accepted as it sees; what it sees is requests that were judged; each
 * accepted intent has one end; the counts of the gateway are those of its
 * rows; and once client and origin have left, nothing is left of them.
 */
#include "gateway/audit/sink.h"
#include "gateway/flow/carriers.h"
#include "gateway/flow/consent.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/machine.h"
#include "gateway/flow/table.h"
#include "gateway/flow/upstream.h"
#include "gateway/net/pool.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "gateway/proto/http1.h"
#include "gateway/run/run.h"
#include "policy/document.h"
#include "policy/stack.h"
#include "schema/frame.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ORIGINS 16
#define SEEN 65536
#define WAITING 256
#define PORT 80

enum step {
	CLIENT_SENDS,
	ORIGIN_SENDS,
	WRITER_ACCEPTS,
	CLIENT_ENDS,
	ORIGIN_ENDS,
	CLIENT_BREAKS,
	ORIGIN_BREAKS,
	STALL, /* nobody reads any more; or everybody does again */
	STEP_COUNT
};

/* Beside a step: its bytes a thousand times; no turn before the next. */
enum {
	OFTEN = 64,
	TOGETHER = 128
};

/* The world's end of one connection, and what came out of it. */
struct origin {
	int fd;
	unsigned char seen[SEEN];
	size_t length;
};

struct play {
	struct plane plane;
	struct run run;
	int client, writer;
	struct origin origins[ORIGINS];
	size_t origin_count;
	/* The numbers of the rows that are waited for. */
	uint64_t waiting[WAITING], last;
	size_t waiting_count;
	size_t intents, accepted_intents, ends, requests, refused;
	uint64_t pending_intents;
	bool stalled;
};

static struct play play;

static const char policy_text[] =
    "{\"version\": 1, \"rules\": ["
    "{\"id\": \"a\", \"host\": [\"a.test\"], \"access\": \"any\"},"
    "{\"id\": \"no\", \"host\": [\"a.test\"], \"path\": [\"/no/**\"],"
    " \"action\": \"deny\"}]}";

/* ---- in the place of flow/upstream, whose object is not linked then ---- */

struct upstream {
	upstream_call *on_done;
	void *arg;
	struct event *ready;
	bool tls;
};

static void
on_connect(evutil_socket_t fd, short what, void *arg)
{
	struct upstream *upstream = arg;
	static const uint8_t public[4] = { 9, 9, 9, 9 };
	struct upstream_result result = { .fd = -1,
		.to = { .address = address_v4(public), .port = PORT },
		.cause = "" };
	upstream_call *on_done = upstream->on_done;
	int pair[2];

	(void)fd;
	(void)what;
	arg = upstream->arg;
	if (upstream->tls)
		result.reason = REASON_UPSTREAM_TLS;
	else if (play.origin_count == ORIGINS)
		result.reason = REASON_UPSTREAM_REFUSED;
	upstream_cancel(upstream);
	if (result.reason == REASON_NONE) {
		assert(socketpair(AF_UNIX,
			   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			   pair) == 0);
		play.origins[play.origin_count].length = 0;
		play.origins[play.origin_count++].fd = pair[1];
		result.fd = pair[0];
	}
	on_done(&result, arg);
}

struct upstream *
upstream_connect(struct flow *flow, const struct upstream_wish *wish,
    upstream_call *on_done, void *arg)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	assert(upstream != NULL);
	*upstream = (struct upstream){ .on_done = on_done,
		.arg = arg,
		.tls = wish->kind != UPSTREAM_CLEAR };
	upstream->ready = event_new(
	    loop_base(flow->plane->loop), -1, 0, on_connect, upstream);
	assert(upstream->ready != NULL);
	event_active(upstream->ready, EV_TIMEOUT, 0);
	return upstream;
}

enum upstream_kind
upstream_kind(const struct flow *flow, bool http1_only)
{
	(void)http1_only;
	return flow->protocol == SNIFF_TLS ? UPSTREAM_TLS_ANY : UPSTREAM_CLEAR;
}

void
upstream_cancel(struct upstream *upstream)
{
	if (upstream == NULL)
		return;
	event_free(upstream->ready);
	free(upstream);
}

/* ---- the writer ---- */

static void
take_event(const struct event *event)
{
	play.last = event->number;
	play.requests += event_is_request(event);
	play.refused += event_is_refusal(event);
	if (event->kind == EVENT_HTTP_INTENT) {
		play.intents++;
		play.pending_intents++;
	}
	if (event->kind == EVENT_HTTP && event->parent_seq >= 0)
		play.ends++;
	if (event->wait == EVENT_NO_WAIT)
		return;
	assert(play.waiting_count < WAITING);
	play.waiting[play.waiting_count++] = event->number;
}

static void
read_events(void)
{
	static unsigned char packet[LIMIT_FRAME];
	struct event event;
	struct frame frame;
	struct fdpass fds;
	size_t length;

	while (fdpass_receive(play.writer, packet, sizeof(packet), &length,
		   &fds) == STATUS_OK) {
		assert(frame_parse(packet, length, &frame) == STATUS_OK);
		while (!cursor_is_empty(&frame.body)) {
			assert(event_read(&frame.body, &event) == STATUS_OK);
			take_event(&event);
		}
	}
}

static void
accept_events(void)
{
	static unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_ACCEPTED, packet, sizeof(packet));

	int status;

	event_accepted_begin(play.last, &out);
	for (size_t i = 0; i < play.waiting_count; i++)
		event_accepted_pair(
		    play.waiting[i], (int64_t)play.waiting[i], &out);
	assert(cursor_written(&out));
	status = fdpass_send(play.writer, out.bytes, out.used, NULL, 0);
	/* It has not read what it was told before: told the next time. */
	if (status == STATUS_AGAIN)
		return;
	assert(status == STATUS_OK);
	play.waiting_count = 0;
	play.accepted_intents += play.pending_intents;
	play.pending_intents = 0;
}

/* ---- the two ends ---- */

static struct origin *
newest_origin(void)
{
	if (play.origin_count == 0)
		return NULL;
	return &play.origins[play.origin_count - 1];
}

static void
end_of(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* What comes back is read, so that nothing stalls for ever. */
static void
drain(void)
{
	static unsigned char sink[LIMIT_FRAME];

	while (play.client >= 0 &&
	       recv(play.client, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		continue;
	for (size_t i = 0; i < play.origin_count; i++) {
		struct origin *origin = &play.origins[i];
		ssize_t got = 1;

		while (got > 0 && origin->fd >= 0 && origin->length < SEEN) {
			got = recv(origin->fd, origin->seen + origin->length,
			    SEEN - origin->length, MSG_DONTWAIT);
			origin->length += got > 0 ? (size_t)got : 0;
		}
	}
}

static void
turn(void)
{
	for (int i = 0; i < 4; i++) {
		assert(event_base_loop(
			   loop_base(play.plane.loop), EVLOOP_NONBLOCK) >= 0);
		read_events();
		if (!play.stalled)
			drain();
	}
}

static void
send_often(int fd, struct cursor bytes, int times)
{
	for (int i = 0; i < times; i++)
		if (send(fd, bytes.at, bytes.left,
			MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return;
}

static void
make_step(enum step step, struct cursor bytes, int times)
{
	struct origin *origin = newest_origin();
	int fd = origin == NULL ? -1 : origin->fd;

	switch (step) {
	case CLIENT_SENDS:
		send_often(play.client, bytes, times);
		break;
	case ORIGIN_SENDS:
		send_often(fd, bytes, times);
		break;
	case WRITER_ACCEPTS:
		accept_events();
		break;
	case CLIENT_ENDS:
		(void)shutdown(play.client, SHUT_WR);
		break;
	case ORIGIN_ENDS:
		(void)shutdown(fd, SHUT_WR);
		break;
	case CLIENT_BREAKS:
		end_of(&play.client);
		break;
	case ORIGIN_BREAKS:
		if (origin != NULL)
			end_of(&origin->fd);
		break;
	case STALL:
		play.stalled = !play.stalled;
		break;
	case STEP_COUNT:
		break;
	}
}

/* ---- what must hold ---- */

/* How many requests were begun on a connection of HTTP/2. */
static size_t
count_heads(struct cursor bytes)
{
	struct cursor payload;
	uint32_t length, id, last = 0;
	uint8_t type, flags;
	size_t heads = 0;

	while (cursor_u24(&bytes, &length) && cursor_u8(&bytes, &type) &&
	       cursor_u8(&bytes, &flags) && cursor_u32(&bytes, &id) &&
	       cursor_take(&bytes, length, &payload)) {
		/* Trailers come on a stream that was counted. */
		if (type == 1 && id > last) {
			last = id;
			heads++;
		}
	}
	return heads;
}

/*
 * How many requests an origin saw, at most one of HTTP/1.  The first of these
 * is one that was judged and allowed.
 */
static size_t
check_origin(const struct origin *origin)
{
	struct cursor seen = cursor_of(origin->seen, origin->length);
	struct request request;
	enum head_fault fault;
	enum parse_result result;

	if (origin->length == 0)
		return 0;
	if (cursor_literal(&seen, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		return count_heads(seen);
	/* The preface in pieces. */
	if (origin->length < 24 && origin->seen[0] == 'P' &&
	    origin->seen[1] == 'R')
		return 0;
	result = http1_request_parse(
	    cursor_of(origin->seen, origin->length), &request, &fault);
	assert(result != PARSE_BAD);
	if (result == PARSE_OK) {
		assert(strcmp(request.authority.name.text, "a.test") == 0);
		assert(request.path.left < 4 ||
		       memcmp(request.path.at, "/no/", 4) != 0);
	}
	return 1;
}

static void
check(void)
{
	size_t served = 0;

	for (size_t i = 0; i < play.origin_count; i++)
		served += check_origin(&play.origins[i]);
	/* A request may be sent once more where a connection was dead. */
	assert(served <= 2 * play.accepted_intents);
	assert(play.ends <= play.intents);
}

/* Everybody leaves; then nothing may be left, and the counts agree. */
static void
finish(void)
{
	end_of(&play.client);
	play.stalled = false;
	for (int i = 0; i < 50 && table_count(play.plane.table) > 0; i++) {
		accept_events();
		for (size_t o = 0; o < play.origin_count; o++)
			end_of(&play.origins[o].fd);
		turn();
	}
	assert(table_count(play.plane.table) == 0);
	turn();
	check();
	assert(play.intents == play.ends);
	assert(play.requests == play.run.tally.requests);
	assert(play.refused == play.run.tally.refused);
	for (size_t o = 0; o < play.origin_count; o++)
		end_of(&play.origins[o].fd);
}

static struct stack *
load(void)
{
	struct problems problems = { 0 };
	struct policy *policy;
	const struct policy *layers[1];
	struct stack *stack;

	assert(document_load(cursor_of_text(policy_text), "fuzz", &policy,
		   &problems) == STATUS_OK);
	layers[0] = policy;
	stack = stack_new(layers, 1);
	assert(stack != NULL);
	policy_unref(policy);
	return stack;
}

static void
begin(void)
{
	static struct stack *stack;
	struct endpoint nowhere = { .port = PORT };
	struct plane *plane = &play.plane;
	struct flow *flow;
	int audit[2], pair[2];

	if (stack == NULL)
		stack = load();
	memset(&play, 0, offsetof(struct play, origins));
	memset(&play.origin_count, 0,
	    sizeof(play) - offsetof(struct play, origin_count));
	play.run.stack = stack;
	assert(fdpass_pair(audit) == STATUS_OK);
	play.writer = audit[0];
	plane->loop = loop_new_sole();
	plane->run = &play.run;
	plane->sink = sink_new(plane->loop, audit[1]);
	plane->buffers = pool_new(LIMIT_RELAY_BYTES, 4);
	plane->table = table_new(1);
	plane->consent = consent_new(plane);
	plane->carriers = carriers_new(plane, machine_makers());
	assert(plane->sink != NULL && plane->buffers != NULL &&
	       plane->table != NULL && plane->consent != NULL &&
	       plane->carriers != NULL);
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		   0, pair) == 0);
	play.client = pair[1];
	flow = flow_new(plane, machine_rows(), pair[0], &nowhere, &nowhere);
	assert(flow != NULL);
	flow->by_name = true;
	assert(hostname_parse("a.test", 6, &flow->host) == STATUS_OK);
	table_add(plane->table, flow);
	flow_enter(flow, FLOW_JUDGING);
}

static void
end(void)
{
	struct plane *plane = &play.plane;

	table_free(plane->table);
	carriers_free(plane->carriers);
	consent_free(plane->consent);
	loop_settle(plane->loop);
	sink_free(plane->sink);
	pool_free(plane->buffers);
	loop_free(plane->loop);
	(void)close(play.writer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor rest = cursor_of(bytes, length), piece;
	uint8_t what, size;

	begin();
	turn();
	while (cursor_u8(&rest, &what)) {
		piece = cursor_of(NULL, 0);
		if (what % STEP_COUNT <= ORIGIN_SENDS) {
			if (!cursor_u8(&rest, &size) ||
			    !cursor_take(&rest,
				size < rest.left ? size : rest.left, &piece))
				break;
		}
		make_step((enum step)(what % STEP_COUNT), piece,
		    (what & OFTEN) != 0 ? 1000 : 1);
		if ((what & TOGETHER) == 0)
			turn();
		check();
	}
	turn();
	finish();
	end();
	return 0;
}
