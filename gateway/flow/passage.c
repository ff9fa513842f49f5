#include "gateway/flow/passage.h"

#include "gateway/flow/echo.h"
#include "gateway/flow/lure.h"
#include "gateway/flow/sigv4.h"
#include "gateway/flow/stead.h"
#include "gateway/run/lures.h"
#include "schema/status.h"

#include <string.h>

void
passage_done(struct passage *passage)
{
	refit_done(&passage->there);
	refit_done(&passage->back);
	sigv4_free(passage->sigv4);
	lure_watch_free(passage->watch);
	stead_free(passage->stead);
	echo_free(passage->echo);
	*passage = (struct passage){ .sigv4 = NULL };
}

static struct passage_fault
fault_of(enum reason reason, const char *words)
{
	return (struct passage_fault){ .reason = reason, .words = words };
}

/* ---- the body that leaves ---- */

static int
take_signed(void *arg, struct cursor bytes, bool last, struct outbox *out)
{
	(void)last;
	return sigv4_body(arg, bytes, out);
}

static bool
has_no_more(const void *arg)
{
	(void)arg;
	return false;
}

/* What is still in there when keys stand in their places goes nowhere. */
static int
take_steaded(void *arg, struct cursor bytes, bool last, struct outbox *out)
{
	struct passage *passage = arg;
	size_t before = outbox_bytes(out).left;
	int status = stead_body(passage->stead, bytes, last, out);
	struct cursor left = outbox_bytes(out), passed;
	const struct order_lure *found;

	if (status != STATUS_OK || !cursor_take(&left, before, &passed))
		return status;
	found = passage->watch == NULL ? NULL
				       : lure_watch_see(passage->watch, left);
	if (found == NULL)
		return STATUS_OK;
	passage->leaked = found->credential;
	return STATUS_REFUSED;
}

static const struct refit_ops steaded_ops = { .take = take_steaded,
	.has_more = has_no_more };

static const struct refit_ops signed_ops = { .take = take_signed,
	.has_more = has_no_more };

/* ---- the head ---- */

static struct passage_fault
sign(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	const struct order_lure *lure =
	    lures_signing(order->lures, order->rule->credential);
	struct sigv4_order what = { .head = order->head,
		.path = order->path,
		.grant = order->grant,
		.placeholder = lure == NULL ? NULL : lure->value,
		.now_s = order->now_s };
	const char *why = "";

	passage->sigv4 = sigv4_sign(&what, &room->head, &why);
	if (passage->sigv4 == NULL)
		return fault_of(REASON_CREDENTIAL_UNAVAILABLE, why);
	if (sigv4_signs_body(passage->sigv4))
		passage->there =
		    (struct refit){ .ops = &signed_ops, .arg = passage->sigv4 };
	return fault_of(REASON_NONE, "");
}

/* What comes back is looked at, in codings that we can read. */
static struct passage_fault
expect_echo(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	int status;

	passage->echo = echo_new(order->grant, order->rule->echo, &status);
	if (status != STATUS_OK)
		return fault_of(REASON_OVERLOAD, "");
	if (order->rule->echo != RULE_ECHO_PASS && passage->echo != NULL &&
	    header_set(&room->head.header, "accept-encoding",
		cursor_of_text("gzip, identity")) != STATUS_OK)
		return fault_of(REASON_MALFORMED, "");
	return fault_of(REASON_NONE, "");
}

/* Placeholders in path, query and body, where the owner says so. */
static int
place_in_stead(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	struct cursor_writer path =
	    cursor_writer_of(room->path, sizeof(room->path));
	struct cursor_writer query =
	    cursor_writer_of(room->query, sizeof(room->query));
	int status = stead_new(order->grant, order->lures,
	    order->rule->credential, &passage->stead);

	if (status != STATUS_OK || passage->stead == NULL)
		return status;
	status = stead_path(passage->stead, &room->path_text, &path);
	if (status == STATUS_OK)
		status = stead_query(passage->stead, &room->head.query, &query);
	if (status == STATUS_OK &&
	    stead_begin_body(passage->stead, &room->head))
		passage->there =
		    (struct refit){ .ops = &steaded_ops, .arg = passage };
	return status;
}

static struct passage_fault
place_credential(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	if (sigv4_is_for(order->grant))
		return sign(passage, order, room);
	if (inject_request(order->head, order->grant, &room->inject,
		&room->head) != STATUS_OK)
		return fault_of(REASON_CREDENTIAL_UNAVAILABLE,
		    "it does not fit into the request");
	if (place_in_stead(passage, order, room) != STATUS_OK)
		return fault_of(REASON_CREDENTIAL_UNAVAILABLE,
		    "it does not fit in its placeholder's stead");
	return expect_echo(passage, order, room);
}

static bool
is_websocket(const struct request *head)
{
	return header_is(head->upgrade, "websocket");
}

/* Placeholders in what would leave, and a watch over what follows. */
static struct passage_fault
look_for_lures(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	const struct order_lure *found;
	struct passage_fault fault = fault_of(REASON_PLACEHOLDER_LEAK,
	    "a placeholder was sent where its credential does not go");
	bool upgrades = order->head->upgrade.left > 0;

	found = lure_in_request(order->lures, &room->head, room->path_text);
	if (found != NULL) {
		fault.credential = found->credential;
		return fault;
	}
	if (order->head->body.framing == MESSAGE_NO_BODY && !upgrades)
		return fault_of(REASON_NONE, "");
	/* Packed messages could not be read. */
	if (upgrades)
		(void)header_drop(
		    &room->head.header, "sec-websocket-extensions");
	passage->lures = order->lures;
	passage->watch =
	    lure_watch_new(order->lures, is_websocket(order->head));
	return fault_of(
	    passage->watch == NULL ? REASON_OVERLOAD : REASON_NONE, "");
}

struct passage_fault
passage_begin(struct passage *passage, const struct passage_order *order,
    struct passage_room *room)
{
	struct passage_fault fault = fault_of(REASON_NONE, "");

	passage_done(passage);
	room->head = *order->head;
	room->path_text = order->path;
	if (order->grant != NULL)
		fault = place_credential(passage, order, room);
	if (fault.reason == REASON_NONE && !lures_are_none(order->lures))
		fault = look_for_lures(passage, order, room);
	return fault;
}

/* ---- bodies ---- */

const char *
passage_see(struct passage *passage, struct cursor bytes)
{
	const struct order_lure *found = NULL;

	/* One that is changed is looked at behind that. */
	if (passage->watch != NULL && passage->there.ops != &steaded_ops)
		found = lure_watch_see(passage->watch, bytes);
	return found == NULL ? NULL : found->credential;
}

int
passage_answer(struct passage *passage, struct response *response)
{
	int status;

	if (passage->echo == NULL)
		return STATUS_OK;
	status = echo_head(passage->echo, response);
	if (status == STATUS_OK && !response_is_interim(response))
		passage->back = echo_refit(passage->echo);
	return status;
}

void
passage_look(struct passage *passage, struct cursor bytes)
{
	if (passage->echo != NULL)
		echo_look(passage->echo, bytes);
}

bool
passage_is_whole(const struct passage *passage)
{
	return passage->sigv4 == NULL || !sigv4_signs_body(passage->sigv4) ||
	       sigv4_is_over(passage->sigv4);
}

bool
passage_has_echoed(const struct passage *passage)
{
	return passage->echo != NULL && echo_was_seen(passage->echo);
}
