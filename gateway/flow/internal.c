#include "gateway/flow/internal.h"

#include "gateway/dns/names.h"
#include "gateway/flow/exchange.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/handbook.h"
#include "gateway/flow/leg.h"
#include "gateway/flow/metadata.h"
#include "gateway/flow/notice.h"
#include "gateway/flow/passport.h"
#include "gateway/flow/petition.h"
#include "gateway/proto/request.h"
#include "gateway/proto/response.h"
#include "gateway/run/run.h"
#include "schema/event.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

struct endpoint_row;

/* One request and its answer. */
struct internal {
	struct leg leg;
	struct flow *flow;
	const struct endpoint_row *row; /* NULL: there is none */
	const char *allowed; /* the method of this path, if it is one */
	uint8_t id[EVENT_REQ_ID]; /* of the request */
	bool is_head, is_form, too_long;
	struct metadata metadata; /* instead of a row, where it is one */
	struct passport *passport; /* of a question to the broker */
	unsigned char body[LIMIT_INTERNAL_BODY];
	size_t body_length;
	bool whole; /* the request has ended */
	unsigned char *answer;
	size_t answer_length, sent;
	uint64_t received;
	struct loop_deferred answering, freeing;
};

/* How an endpoint answers. */
struct endpoint_row {
	const char *path, *method; /* GET has HEAD with it */
	/* Writes a document; the status. */
	unsigned (*answer)(struct internal *internal, struct json *j);
	enum passport_page page; /* what the broker is asked for first */
};

/* ---- endpoints ---- */

static unsigned
answer_whoami(struct internal *internal, struct json *j)
{
	handbook_whoami(internal->flow, j);
	return 200;
}

static unsigned
answer_policy(struct internal *internal, struct json *j)
{
	handbook_policy(internal->flow, j);
	return 200;
}

static unsigned
answer_limits(struct internal *internal, struct json *j)
{
	handbook_limits(internal->flow, j);
	return 200;
}

static unsigned
answer_ask(struct internal *internal, struct json *j)
{
	return petition_answer(internal->flow, internal->id,
	    cursor_of(internal->body, internal->body_length), j);
}

static unsigned
answer_passport(struct internal *internal, struct json *j)
{
	return passport_answer(internal->passport, j);
}

static const struct endpoint_row endpoints[] = {
	{ "/v1/whoami", "GET", answer_whoami, PASSPORT_NONE },
	{ "/v1/policy", "GET", answer_policy, PASSPORT_NONE },
	{ "/v1/limits", "GET", answer_limits, PASSPORT_NONE },
	{ "/v1/ask", "POST", answer_ask, PASSPORT_NONE },
	{ "/v1/token", "POST", answer_passport, PASSPORT_TOKEN },
	{ "/v1/introspect", "POST", answer_passport, PASSPORT_INTROSPECT },
	{ "/v1/revoke", "POST", answer_passport, PASSPORT_REVOKE },
};

#define ENDPOINTS (sizeof(endpoints) / sizeof(endpoints[0]))

static unsigned
put_notice(struct json *j, unsigned status, const char *detail)
{
	notice_write(&(struct notice){ .status = status, .detail = detail }, j);
	return status;
}

static unsigned
answer_nothing(const struct internal *internal, struct json *j)
{
	char detail[LIMIT_INTERNAL_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail) - 1);

	if (internal->allowed != NULL) {
		cursor_put_text(&out, "Here is only ");
		cursor_put_text(&out, internal->allowed);
		cursor_put_text(&out, " answered.");
		detail[out.used] = '\0';
		return put_notice(j, 405, detail);
	}
	cursor_put_text(&out, "Here are");
	for (size_t i = 0; i < ENDPOINTS; i++) {
		cursor_put_text(&out, i == 0 ? " " : ", ");
		cursor_put_text(&out, endpoints[i].method);
		cursor_put_text(&out, " ");
		cursor_put_text(&out, endpoints[i].path);
	}
	cursor_put_text(&out, ".");
	detail[out.used] = '\0';
	return put_notice(j, 404, detail);
}

/* ---- the answer ---- */

/* Gives as much of the answer as the other side takes. */
static void
push(struct internal *internal)
{
	struct exchange *exchange = internal->leg.exchange;

	while (internal->sent < internal->answer_length) {
		size_t left = internal->answer_length - internal->sent;
		size_t room = exchange_room(exchange, &internal->leg);

		if (room == 0) {
			exchange_flush(exchange);
			return;
		}
		if (room < left)
			left = room;
		exchange_body(exchange, &internal->leg,
		    cursor_of(internal->answer + internal->sent, left));
		internal->sent += left;
	}
	exchange_end(exchange, &internal->leg, NULL);
}

static int
set_fields(
    const struct internal *internal, struct response *response, unsigned status)
{
	/* OAuth has documents of its own for what is wrong. */
	const char *type = status < 400 || internal->passport != NULL
			       ? "application/json"
			       : "application/problem+json";

	if (internal->metadata.is_it)
		return metadata_fields(&internal->metadata, &response->header);
	if (header_set(&response->header, "Content-Type",
		cursor_of_text(type)) != STATUS_OK ||
	    header_set(&response->header, "Cache-Control",
		cursor_of_text("no-store")) != STATUS_OK)
		return STATUS_FULL;
	if (status != 405)
		return STATUS_OK;
	return header_set(
	    &response->header, "Allow", cursor_of_text(internal->allowed));
}

static bool
write_answer(struct internal *internal, unsigned *ret_status)
{
	struct cursor_writer out;
	struct json j;
	unsigned char *smaller;

	internal->answer = malloc(LIMIT_INTERNAL_ANSWER);
	if (internal->answer == NULL)
		return false;
	out = cursor_writer_of(internal->answer, LIMIT_INTERNAL_ANSWER);
	j = json_to(&out);
	if (internal->metadata.is_it)
		*ret_status = metadata_write(&internal->metadata, &out);
	else if (internal->too_long)
		*ret_status = put_notice(&j, 413, "The body is too long.");
	else if (internal->row == NULL)
		*ret_status = answer_nothing(internal, &j);
	else
		*ret_status = internal->row->answer(internal, &j);
	if (!internal->metadata.is_it)
		cursor_put_u8(&out, '\n');
	internal->answer_length = out.used;
	smaller = realloc(internal->answer, out.used);
	if (smaller != NULL)
		internal->answer = smaller;
	return cursor_written(&out);
}

static void
respond(void *arg)
{
	struct internal *internal = arg;
	struct exchange *exchange = internal->leg.exchange;
	struct response response = { .version = MESSAGE_HTTP_1_1,
		.keep_alive = true,
		.body = { .framing = MESSAGE_LENGTH } };
	unsigned status;

	if (exchange == NULL || internal->answer != NULL)
		return;
	if (!write_answer(internal, &status) ||
	    set_fields(internal, &response, status) != STATUS_OK) {
		exchange_fail(exchange, &internal->leg, REASON_OVERLOAD);
		return;
	}
	response.status = (uint16_t)status;
	response.body.length = internal->answer_length;
	if (internal->is_head)
		internal->sent = internal->answer_length;
	exchange_response(exchange, &response);
	if (internal->leg.exchange == exchange)
		push(internal);
}

static void
on_passport(void *arg)
{
	respond(arg);
}

/* The request is whole: some pages have to be asked for elsewhere. */
static void
begin(void *arg)
{
	struct internal *internal = arg;
	struct passport_wish wish = { .flow = internal->flow,
		.is_form = internal->is_form,
		.body = cursor_of(internal->body, internal->body_length),
		.on_done = on_passport,
		.arg = internal };
	bool done = true;

	if (internal->leg.exchange == NULL || internal->answer != NULL ||
	    internal->passport != NULL)
		return;
	if (internal->row == NULL || internal->row->page == PASSPORT_NONE ||
	    internal->too_long) {
		respond(internal);
		return;
	}
	wish.page = internal->row->page;
	internal->passport = passport_ask(&wish, &done);
	explicit_bzero(internal->body, internal->body_length);
	if (internal->passport == NULL)
		exchange_fail(
		    internal->leg.exchange, &internal->leg, REASON_OVERLOAD);
	else if (done)
		respond(internal);
}

/* Some clients send no body before they are told to. */
static void
invite(void *arg)
{
	struct internal *internal = arg;
	struct response interim = { .version = MESSAGE_HTTP_1_1,
		.status = 100 };

	if (internal->leg.exchange != NULL)
		exchange_response(internal->leg.exchange, &interim);
}

static void
later(struct internal *internal, loop_call *call)
{
	internal->answering =
	    (struct loop_deferred){ .call = call, .arg = internal };
	loop_defer(internal->flow->plane->loop, &internal->answering);
}

/* ---- as the exchange sees it ---- */

static bool
has_body(const struct request *head)
{
	return head->body.framing == MESSAGE_CHUNKED ||
	       (head->body.framing == MESSAGE_LENGTH && head->body.length > 0);
}

/* Parameters of the type are nothing that we would obey. */
static bool
says_form(const struct header *header)
{
	struct cursor type, first;

	if (!header_find(header, "Content-Type", &type))
		return false;
	if (cursor_until(&type, ';', &first))
		type = first;
	while (type.left > 0 && type.at[type.left - 1] == ' ')
		type.left--;
	return header_is(type, "application/x-www-form-urlencoded");
}

static bool
take_request(struct leg *leg, const struct leg_request *request)
{
	struct internal *internal = (struct internal *)leg;
	const char *method = request->head->method;

	memcpy(internal->id, request->id, sizeof(internal->id));
	internal->is_head = strcmp(method, "HEAD") == 0;
	if (!names_is_internal(&internal->flow->host))
		metadata_find(internal->flow->plane->run->lures, request,
		    &internal->metadata);
	for (size_t i = 0; !internal->metadata.is_it && i < ENDPOINTS; i++) {
		if (!cursor_equals(request->path, endpoints[i].path))
			continue;
		internal->allowed = endpoints[i].method;
		if (strcmp(method, endpoints[i].method) == 0 ||
		    (internal->is_head &&
			strcmp(endpoints[i].method, "GET") == 0))
			internal->row = &endpoints[i];
	}
	internal->is_form = says_form(&request->head->header);
	if (!has_body(request->head))
		later(internal, begin);
	else if (request->head->expects_continue)
		later(internal, invite);
	return true;
}

static size_t
room(const struct leg *leg)
{
	(void)leg;
	return LIMIT_RELAY_BYTES;
}

static void
take_body(struct leg *leg, struct cursor bytes)
{
	struct internal *internal = (struct internal *)leg;

	internal->received += bytes.left;
	if (bytes.left > sizeof(internal->body) - internal->body_length) {
		internal->too_long = true;
		later(internal, begin);
		return;
	}
	memcpy(internal->body + internal->body_length, bytes.at, bytes.left);
	internal->body_length += bytes.left;
}

static void
finish(struct leg *leg, const struct header *trailers)
{
	struct internal *internal = (struct internal *)leg;

	(void)trailers;
	later(internal, begin);
}

static void
pull(struct leg *leg)
{
	struct internal *internal = (struct internal *)leg;

	if (internal->answer != NULL)
		push(internal);
}

static void
flush(struct leg *leg)
{
	(void)leg;
}

static void
free_now(void *arg)
{
	struct internal *internal = arg;

	passport_free(internal->passport);
	if (internal->answer != NULL)
		explicit_bzero(internal->answer, internal->answer_length);
	free(internal->answer);
	free(internal);
}

static void
release(struct leg *leg, enum leg_end end)
{
	struct internal *internal = (struct internal *)leg;
	struct loop *loop = internal->flow->plane->loop;

	(void)end;
	loop_undefer(loop, &internal->answering);
	internal->freeing =
	    (struct loop_deferred){ .call = free_now, .arg = internal };
	loop_defer(loop, &internal->freeing);
}

static uint64_t
sent(const struct leg *leg)
{
	return ((const struct internal *)leg)->received;
}

static uint64_t
received(const struct leg *leg)
{
	return ((const struct internal *)leg)->sent;
}

struct leg *
internal_leg(struct flow *flow)
{
	static const struct leg_ops ops = { .request = take_request,
		.room = room,
		.body = take_body,
		.finish = finish,
		.pull = pull,
		.flush = flush,
		.release = release,
		.sent = sent,
		.received = received };
	struct internal *internal = calloc(1, sizeof(*internal));

	if (internal == NULL)
		return NULL;
	internal->leg.ops = &ops;
	internal->flow = flow;
	return &internal->leg;
}
