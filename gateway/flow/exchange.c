#include "gateway/flow/exchange.h"

#include "gateway/flow/exchange_clear.h"
#include "gateway/flow/exchange_finish.h"
#include "gateway/flow/exchange_leave.h"
#include "gateway/flow/exchange_relay.h"
#include "gateway/flow/exchange_state.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/record.h"
#include "gateway/flow/tools.h"
#include "gateway/proc/clock.h"
#include "gateway/proto/response.h"
#include "gateway/run/run.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
describe(struct exchange *exchange, struct cursor query)
{
	struct cursor_writer out =
	    cursor_writer_of(exchange->object, sizeof(exchange->object));

	record_object(cursor_of(exchange->path->text, exchange->path->length),
	    query, &out);
	exchange->object_length = out.used;
	static_assert(
	    sizeof(exchange->method) == sizeof(exchange->request->method),
	    "a method fits");
	memcpy(exchange->method, exchange->request->method,
	    sizeof(exchange->method));
}

/* What a row calls it: what is spoken over HTTP, where that has a name. */
static enum event_l7
name_protocol(const struct flow *flow, const struct request *request)
{
	static const char grpc[] = "application/grpc";
	struct cursor type;

	if (header_is(request->upgrade, "websocket"))
		return EVENT_L7_WS;
	if (header_find(&request->header, "content-type", &type) &&
	    cursor_literal(&type, grpc) &&
	    (type.left == 0 || type.at[0] == '+' || type.at[0] == ';'))
		return EVENT_L7_GRPC;
	return flow->speaks_h2 ? EVENT_L7_H2 : EVENT_L7_HTTP1;
}

static bool
copy_words(struct exchange *exchange, const struct request *request)
{
	size_t query = request->query.left, upgrade = request->upgrade.left;

	if (query + upgrade == 0)
		return true;
	exchange->words = malloc(query + upgrade);
	if (exchange->words == NULL)
		return false;
	if (query > 0)
		memcpy(exchange->words, request->query.at, query);
	if (upgrade > 0)
		memcpy(exchange->words + query, request->upgrade.at, upgrade);
	exchange->query = cursor_of(exchange->words, query);
	exchange->upgrade = cursor_of(exchange->words + query, upgrade);
	return true;
}

bool
exchange_begin(struct flow *flow, struct leg *server,
    const struct request *request, const struct urlpath *path)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (exchange == NULL)
		return false;
	if (!copy_words(exchange, request)) {
		free(exchange);
		return false;
	}
	exchange->flow = flow;
	exchange->server = server;
	exchange->request = request;
	exchange->path = path;
	exchange->l7 = name_protocol(flow, request);
	exchange->request_ended = !request_has_body(request);
	exchange->intent_seq = -1;
	exchange->status = -1;
	exchange->began_us = clock_monotonic_us();
	run_request_id(flow->plane->run, exchange->id);
	describe(exchange, request->query);
	server->exchange = exchange;
	exchange_clear(exchange);
	return true;
}

void
exchange_abort(struct exchange *exchange, enum reason reason)
{
	exchange_finish(exchange, reason, LEG_RESET, LEG_RESET);
}

bool
exchange_takes_end(const struct exchange *exchange)
{
	return exchange->state == EXCHANGE_RELAYING ||
	       exchange->state == EXCHANGE_HOLDING;
}

bool
exchange_is_held(const struct exchange *exchange)
{
	return exchange->state == EXCHANGE_CONSENTING ||
	       exchange->state == EXCHANGE_GRANTING;
}

bool
exchange_releases_head(const struct exchange *exchange)
{
	/* A request without body may have to be sent once more. */
	return exchange->own_request != NULL ||
	       (exchange->state == EXCHANGE_RELAYING &&
		   (!exchange->request_ended || exchange->responded));
}

/* As it may go inside; *copy is for what has to be changed. */
static const struct response *
pass_answer(struct exchange *exchange, const struct response *response,
    struct response *copy)
{
	if (exchange->passage.echo == NULL)
		return response;
	*copy = *response;
	if (passage_answer(&exchange->passage, copy) != STATUS_OK)
		return NULL;
	return copy;
}

void
exchange_response(struct exchange *exchange, const struct response *response)
{
	struct leg *server = exchange->server;
	struct response copy;
	const struct response *answer = pass_answer(exchange, response, &copy);

	if (response_is_interim(response)) {
		/* HTTP/1.0 knows no such thing (RFC 9110 section 15.2). */
		if (exchange->request->version != MESSAGE_HTTP_1_0 &&
		    answer != NULL && server->ops->respond(server, answer))
			server->ops->flush(server);
		return;
	}
	exchange->status = response->status;
	if (answer == NULL)
		exchange_note(exchange,
		    "its coding cannot be read, so that a secret in it could "
		    "not be masked");
	if (answer == NULL || !server->ops->respond(server, answer)) {
		exchange_refuse(exchange, REASON_UPSTREAM_MALFORMED);
		return;
	}
	exchange->responded = true;
	/* What follows a switch of protocols goes both ways. */
	if (response->status == 101)
		exchange->request_ended = false;
}

size_t
exchange_room(const struct exchange *exchange, const struct leg *from)
{
	if (exchange->state == EXCHANGE_HOLDING &&
	    exchange->failed == REASON_NONE)
		return tools_room(exchange->tools);
	/* What was held back goes first. */
	if (from == exchange->server && exchange->holds_body)
		return 0;
	return exchange_relay_room(exchange, from);
}

void
exchange_body(struct exchange *exchange, struct leg *from, struct cursor bytes)
{
	if (exchange->state == EXCHANGE_HOLDING)
		exchange_clear_hold(exchange, bytes);
	else
		exchange_relay_body(exchange, from, bytes);
}

void
exchange_end(
    struct exchange *exchange, struct leg *from, const struct header *trailers)
{
	if (exchange->state != EXCHANGE_HOLDING) {
		exchange_relay_end(exchange, from, trailers);
		return;
	}
	exchange->request_ended = true;
	exchange_clear_held(exchange);
}

void
exchange_judge_again(struct exchange *exchange)
{
	exchange_clear_again(exchange);
}

void
exchange_fail(struct exchange *exchange, struct leg *from, enum reason reason)
{
	bool inside = from == exchange->server;

	if (exchange->state == EXCHANGE_OVER)
		return;
	/* Who sent nonsense and has no answer yet can still be told so. */
	if (exchange->responded || (inside && reason != REASON_MALFORMED)) {
		exchange_finish(exchange, reason, LEG_RESET, LEG_RESET);
		return;
	}
	if (inside || !exchange_leave_again(exchange, reason))
		exchange_refuse(exchange, reason);
}

void
exchange_fail_unread(struct exchange *exchange, struct leg *client,
    enum head_fault fault, struct cursor bytes)
{
	exchange_note(exchange, head_fault_words(fault));
	exchange->unread = bytes;
	exchange_fail(exchange, client, REASON_UPSTREAM_MALFORMED);
	exchange->unread = cursor_of(NULL, 0);
}

void
exchange_drained(struct exchange *exchange, struct leg *leg)
{
	exchange_relay_drained(exchange, leg);
}

void
exchange_flush(struct exchange *exchange)
{
	exchange_relay_flush(exchange);
}
