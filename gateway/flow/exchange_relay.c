#include "gateway/flow/exchange_relay.h"

#include "gateway/flow/exchange_finish.h"
#include "gateway/flow/exchange_state.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/passage.h"
#include "gateway/flow/record.h"
#include "gateway/flow/refit.h"
#include "gateway/flow/tools.h"
#include "gateway/run/budget.h"
#include "schema/status.h"

static enum quota_kind
kind_of(const struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? QUOTA_BYTES_OUT : QUOTA_BYTES_IN;
}

/* How a body is changed that comes from this leg. */
static struct refit *
refit_from(struct exchange *exchange, const struct leg *from)
{
	return from == exchange->server ? &exchange->passage.there
					: &exchange->passage.back;
}

/* How much the other side takes, and the limits let pass. */
size_t
exchange_relay_room(const struct exchange *exchange, const struct leg *from)
{
	const struct leg *to = exchange_other(exchange, from);
	const struct refit *refit = from == exchange->server
					? &exchange->passage.there
					: &exchange->passage.back;
	uint64_t left;
	size_t room;

	if (exchange->state != EXCHANGE_RELAYING || to == NULL)
		return 0;
	room = to->ops->room(to);
	if (refit_is_set(refit))
		room = refit_room(refit, room);
	left = budget_left(exchange->claim, kind_of(exchange, from));
	return left < room ? (size_t)left : room;
}

/* ---- limits ---- */

/* Nothing more may pass, and what is under way is not whole. */
static void
cut(void *arg)
{
	struct exchange *exchange = arg;
	struct budget_over over;
	char words[BUDGET_WORDS_MAX];

	if (exchange->state == EXCHANGE_OVER ||
	    !budget_is_spent(exchange->claim, &over))
		return;
	budget_words(&over, words);
	exchange_note(exchange, words);
	exchange_finish(exchange, REASON_BUDGET, LEG_RESET, LEG_RESET);
}

/* At the end of the tick: what it is called from still needs it. */
static void
charge(struct exchange *exchange, enum quota_kind kind, size_t bytes)
{
	exchange->charged[kind - QUOTA_BYTES_OUT] += bytes;
	budget_spend(exchange->claim, kind, bytes);
	if (budget_left(exchange->claim, kind) > 0)
		return;
	exchange->cutting =
	    (struct loop_deferred){ .call = cut, .arg = exchange };
	loop_defer(exchange->flow->plane->loop, &exchange->cutting);
}

/* ---- a body, piece by piece ---- */

static void
refuse_leak(struct exchange *exchange, const char *credential)
{
	struct passage_fault fault = { .reason = REASON_PLACEHOLDER_LEAK,
		.words = "a placeholder was sent where its credential does "
			 "not go",
		.credential = credential };

	exchange_refuse_passage(exchange, &fault);
}

/* A body that cannot be passed on is broken off. */
static void
break_off(struct exchange *exchange, const struct leg *from)
{
	struct passage_fault fault = { .reason = REASON_MALFORMED,
		.words = "a chunk of its body is not signed as it must be" };

	if (from != exchange->server)
		exchange_finish(
		    exchange, REASON_UPSTREAM_MALFORMED, LEG_RESET, LEG_RESET);
	else if (exchange->passage.leaked != NULL)
		refuse_leak(exchange, exchange->passage.leaked);
	else
		exchange_refuse_passage(exchange, &fault);
}

void
exchange_relay_body(
    struct exchange *exchange, struct leg *from, struct cursor bytes)
{
	struct leg *to = exchange_other(exchange, from);
	struct refit *refit = refit_from(exchange, from);
	const char *leaked = NULL;

	if (exchange->claim != NULL)
		charge(exchange, kind_of(exchange, from), bytes.left);
	if (from == exchange->server)
		leaked = passage_see(&exchange->passage, bytes);
	else
		passage_look(&exchange->passage, bytes);
	if (leaked != NULL)
		refuse_leak(exchange, leaked);
	else if (!refit_is_set(refit))
		to->ops->body(to, bytes);
	else if (refit_take(refit, to, bytes) != STATUS_OK)
		break_off(exchange, from);
}

/* All of a body has been given to the leg. */
static void
end_body(struct exchange *exchange, bool inward, const struct header *trailers)
{
	struct leg *to = inward ? exchange->server : exchange->client;

	to->ops->finish(to, trailers);
	to->ops->flush(to);
	if (!inward) {
		exchange->request_ended = true;
		return;
	}
	/* An early answer: what is left of the request goes nowhere. */
	if (!exchange->request_ended)
		exchange_finish(exchange, REASON_NONE, LEG_CLOSE, LEG_CLOSE);
	else
		exchange_finish(exchange, REASON_NONE, LEG_REUSE, LEG_REUSE);
}

/* The leg outside has done its part; what it said still goes inside. */
static void
let_client_go(struct exchange *exchange)
{
	struct leg *client = exchange->client;
	struct record_request row = exchange_row(exchange, REASON_NONE);

	exchange->left_out = row.bytes_out;
	exchange->left_in = row.bytes_in;
	exchange->client_left = true;
	exchange->client = NULL;
	client->exchange = NULL;
	client->ops->release(
	    client, exchange->request_ended ? LEG_REUSE : LEG_CLOSE);
	/* Nobody else will, now that its events are not ours any more. */
	exchange->server->ops->flush(exchange->server);
}

void
exchange_relay_end(
    struct exchange *exchange, struct leg *from, const struct header *trailers)
{
	struct refit *refit = refit_from(exchange, from);
	bool inward = from != exchange->server;

	if (!inward && !passage_is_whole(&exchange->passage)) {
		break_off(exchange, from);
		return;
	}
	if (!refit_is_set(refit)) {
		end_body(exchange, inward, trailers);
		return;
	}
	if (refit_end(refit, exchange_other(exchange, from)) != STATUS_OK) {
		break_off(exchange, from);
		return;
	}
	/* Trailers could not be kept until then. */
	if (refit_is_done(refit))
		end_body(exchange, inward, NULL);
	else if (inward)
		let_client_go(exchange);
}

/* What was held back of the body goes on, as far as there is room. */
void
exchange_relay_feed(struct exchange *exchange)
{
	struct cursor left = tools_left(exchange->tools);
	size_t room = exchange_relay_room(exchange, exchange->server);

	while (left.left > 0 && room > 0) {
		struct cursor piece = left;

		if (piece.left > room)
			piece.left = room;
		exchange_relay_body(exchange, exchange->server, piece);
		tools_sent(exchange->tools, piece.left);
		if (exchange->state != EXCHANGE_RELAYING)
			return;
		exchange->client->ops->flush(exchange->client);
		left = tools_left(exchange->tools);
		room = exchange_relay_room(exchange, exchange->server);
	}
	if (left.left > 0)
		return;
	exchange->holds_body = false;
	/* Of a body that was too long the rest follows. */
	if (exchange->request_ended)
		exchange_relay_end(exchange, exchange->server, NULL);
}

/* ---- room ---- */

/* What waited for room on a leg goes on; whether the exchange does. */
static bool
push(struct exchange *exchange, struct leg *to)
{
	bool inward = to == exchange->server;
	struct refit *refit =
	    inward ? &exchange->passage.back : &exchange->passage.there;

	if (!refit_is_set(refit) || refit->box.bytes == NULL)
		return true;
	if (refit_push(refit, to) != STATUS_OK) {
		break_off(exchange, exchange_other(exchange, to));
		return false;
	}
	if (refit_is_done(refit))
		end_body(exchange, inward, NULL);
	else
		to->ops->flush(to);
	return exchange->state == EXCHANGE_RELAYING;
}

void
exchange_relay_drained(struct exchange *exchange, struct leg *leg)
{
	struct leg *source;

	if (exchange->state != EXCHANGE_RELAYING || !push(exchange, leg))
		return;
	if (exchange->holds_body && leg == exchange->client)
		exchange_relay_feed(exchange);
	source = exchange_other(exchange, leg);
	if (exchange->state == EXCHANGE_RELAYING && source != NULL)
		source->ops->pull(source);
}

void
exchange_relay_flush(struct exchange *exchange)
{
	exchange->server->ops->flush(exchange->server);
	if (exchange->client != NULL)
		exchange->client->ops->flush(exchange->client);
}
