#include "gateway/proto/http2.h"

#include "gateway/proto/head.h"
#include "schema/status.h"

#include <assert.h>
#include <string.h>

enum {
	WRONG_MAX = 128
};

static const char *const pseudo_names[] = {
	[HTTP2_METHOD] = ":method",
	[HTTP2_SCHEME] = ":scheme",
	[HTTP2_AUTHORITY] = ":authority",
	[HTTP2_PATH] = ":path",
	[HTTP2_PROTOCOL] = ":protocol",
	[HTTP2_STATUS] = ":status",
};

static_assert(
    sizeof(pseudo_names) / sizeof(pseudo_names[0]) == HTTP2_PSEUDO_COUNT,
    "every pseudo-header has a name");

/* ---- gathering ---- */

void
http2_head_init(struct http2_head *head, void *bytes, size_t size)
{
	head->bytes = cursor_writer_of(bytes, size);
	memset(head->pseudo, 0, sizeof(head->pseudo));
	head->header.count = 0;
	head->fault = HEAD_FAULT_NONE;
	head->wrong = cursor_of(NULL, 0);
}

static struct cursor
copy(struct http2_head *head, struct cursor text)
{
	unsigned char *at = head->bytes.bytes + head->bytes.used;

	cursor_put(&head->bytes, text.at, text.left);
	return cursor_of(at, text.left);
}

/* RFC 9113 section 8.3: each at most once, and before every field. */
static enum head_fault
add_pseudo(struct http2_head *head, struct cursor name, struct cursor value)
{
	for (int i = 0; i < HTTP2_PSEUDO_COUNT; i++) {
		if (!cursor_equals(name, pseudo_names[i]))
			continue;
		if (head->pseudo[i].at != NULL || head->header.count > 0)
			return HEAD_FAULT_PSEUDO;
		if (!header_is_value(value))
			return HEAD_FAULT_CONTROL;
		head->pseudo[i] = copy(head, value);
		return HEAD_FAULT_NONE;
	}
	return HEAD_FAULT_PSEUDO;
}

/*
 * Clients cut cookies into crumbs, and HTTP/1 knows only one.  An empty crumb
 * adds nothing, since a joint at an end would leave a blank there.
 */
static bool
add_crumb(struct http2_head *head, struct cursor value)
{
	struct header *header = &head->header;

	for (size_t i = 0; i < header->count; i++) {
		struct cursor *whole = &header->fields[i].value;

		if (!cursor_equals(header->fields[i].name, "cookie"))
			continue;
		if (value.left == 0)
			return true;
		/* Most often the one before is the last that was copied. */
		if (whole->at + whole->left !=
		    head->bytes.bytes + head->bytes.used)
			*whole = copy(head, *whole);
		if (whole->left > 0)
			cursor_put_text(&head->bytes, "; ");
		cursor_put(&head->bytes, value.at, value.left);
		whole->left =
		    (size_t)(head->bytes.bytes + head->bytes.used - whole->at);
		return true;
	}
	return false;
}

static bool
has_capital(struct cursor name)
{
	for (size_t i = 0; i < name.left; i++)
		if (name.at[i] >= 'A' && name.at[i] <= 'Z')
			return true;
	return false;
}

static bool
is_blank(unsigned char byte)
{
	return byte == ' ' || byte == '\t';
}

static bool
is_blank_at_an_end(struct cursor value)
{
	return value.left > 0 &&
	       (is_blank(value.at[0]) || is_blank(value.at[value.left - 1]));
}

/* RFC 9113 section 8.2.2. */
static bool
governs_connection(struct cursor name, struct cursor value)
{
	static const char *const names[] = { "connection", "keep-alive",
		"proxy-connection", "transfer-encoding", "upgrade" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (cursor_equals(name, names[i]))
			return true;
	return cursor_equals(name, "te") && !header_is(value, "trailers");
}

static enum head_fault
add_field(struct http2_head *head, struct cursor name, struct cursor value)
{
	if (has_capital(name))
		return HEAD_FAULT_FIELD_CASE;
	if (governs_connection(name, value))
		return HEAD_FAULT_HOP_FIELD;
	if (is_blank_at_an_end(value))
		return HEAD_FAULT_BLANK;
	if (!header_is_value(value))
		return HEAD_FAULT_CONTROL;
	if (cursor_equals(name, "cookie") && add_crumb(head, value))
		return HEAD_FAULT_NONE;
	/* Two statements: the order of the copies is that of the fields. */
	name = copy(head, name);
	value = copy(head, value);
	switch (header_add(&head->header, name, value)) {
	case STATUS_OK:
		return HEAD_FAULT_NONE;
	case STATUS_FULL:
		return HEAD_FAULT_FIELDS;
	default:
		return HEAD_FAULT_FIELD_NAME;
	}
}

/* As much of it as an excerpt shows, where there is room. */
static void
keep_wrong(struct http2_head *head, struct cursor name, struct cursor value)
{
	unsigned char *at = head->bytes.bytes + head->bytes.used;
	size_t left = head->bytes.size - head->bytes.used;

	if (value.left > WRONG_MAX)
		value.left = WRONG_MAX;
	if (name.left > WRONG_MAX || left < name.left + 2 + value.left)
		return;
	cursor_put(&head->bytes, name.at, name.left);
	cursor_put_text(&head->bytes, ": ");
	cursor_put(&head->bytes, value.at, value.left);
	head->wrong = cursor_of(at, name.left + 2 + value.left);
}

void
http2_head_add(struct http2_head *head, struct cursor name, struct cursor value)
{
	if (head->fault != HEAD_FAULT_NONE)
		return;
	if (name.left > 0 && name.at[0] == ':')
		head->fault = add_pseudo(head, name, value);
	else
		head->fault = add_field(head, name, value);
	if (head->bytes.overflow)
		head->fault = HEAD_FAULT_HEAD_LONG;
	else if (head->fault != HEAD_FAULT_NONE)
		keep_wrong(head, name, value);
}

static void
show(struct cursor_writer *out, const char *before, struct cursor text,
    const char *behind)
{
	if (text.at == NULL ||
	    out->size - out->used < strlen(before) + text.left + strlen(behind))
		return;
	cursor_put_text(out, before);
	cursor_put(out, text.at, text.left);
	cursor_put_text(out, behind);
}

void
http2_head_show(const struct http2_head *head, struct cursor_writer *out)
{
	show(out, "", head->pseudo[HTTP2_METHOD], " ");
	show(out, "", head->pseudo[HTTP2_PATH], " HTTP/2\r\n");
	show(out, "HTTP/2 ", head->pseudo[HTTP2_STATUS], "\r\n");
	show(out, "Host: ", head->pseudo[HTTP2_AUTHORITY], "\r\n");
	for (size_t i = 0; i < head->header.count; i++) {
		show(out, "", head->header.fields[i].name, ": ");
		show(out, "", head->header.fields[i].value, "\r\n");
	}
	show(out, "", head->wrong, "\r\n\r\n");
}

/* ---- requests ---- */

static bool
has(const struct http2_head *head, enum http2_pseudo pseudo)
{
	return head->pseudo[pseudo].at != NULL;
}

static enum head_fault
read_scheme(struct cursor text, enum request_scheme *ret)
{
	if (header_is(text, "https"))
		*ret = REQUEST_HTTPS;
	else if (header_is(text, "http"))
		*ret = REQUEST_HTTP;
	else
		return HEAD_FAULT_TARGET;
	return HEAD_FAULT_NONE;
}

/* The authority, or the Host of one who knows no other (section 8.3.1). */
static enum head_fault
read_authority(const struct http2_head *head, struct request *request)
{
	uint16_t port = request->scheme == REQUEST_HTTPS ? 443 : 80;
	struct authority host;
	struct cursor value;
	bool has_host = header_find(&head->header, "host", &value);

	if (header_count(&head->header, "host") > 1)
		return HEAD_FAULT_HOST_TWICE;
	if (!has_host && !has(head, HTTP2_AUTHORITY))
		return HEAD_FAULT_HOST_MISSING;
	if (has_host && authority_parse(value, &host) != STATUS_OK)
		return HEAD_FAULT_HOST;
	if (!has(head, HTTP2_AUTHORITY)) {
		request->authority = host;
		return HEAD_FAULT_NONE;
	}
	if (authority_parse(head->pseudo[HTTP2_AUTHORITY],
		&request->authority) != STATUS_OK)
		return HEAD_FAULT_HOST;
	if (has_host && !authority_equals(&host, &request->authority, port))
		return HEAD_FAULT_HOST_DISAGREES;
	return HEAD_FAULT_NONE;
}

/*
 * RFC 8441 section 4: with a :protocol, CONNECT opens a stream to switch
 * protocols on.
 */
static enum head_fault
read_method(const struct http2_head *head, bool ended, struct request *request)
{
	struct cursor method = head->pseudo[HTTP2_METHOD];
	struct cursor protocol = head->pseudo[HTTP2_PROTOCOL];

	if (!has(head, HTTP2_PROTOCOL))
		return head_method(method, request);
	if (!cursor_equals(method, "CONNECT") || !header_is_token(protocol))
		return HEAD_FAULT_PSEUDO;
	if (ended || header_count(&head->header, "content-length") > 0)
		return HEAD_FAULT_BODY;
	request->upgrade = protocol;
	return head_method(cursor_of_text("GET"), request);
}

static enum head_fault
read_request_line(
    const struct http2_head *head, bool ended, struct request *request)
{
	struct cursor path = head->pseudo[HTTP2_PATH];
	enum head_fault fault;

	if (has(head, HTTP2_STATUS) || !has(head, HTTP2_METHOD))
		return HEAD_FAULT_PSEUDO;
	fault = read_method(head, ended, request);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (!has(head, HTTP2_SCHEME) || !has(head, HTTP2_PATH))
		return HEAD_FAULT_PSEUDO;
	fault = read_scheme(head->pseudo[HTTP2_SCHEME], &request->scheme);
	if (fault == HEAD_FAULT_NONE)
		fault = head_target_text(path);
	if (fault == HEAD_FAULT_NONE)
		fault = head_target(path, request);
	if (fault == HEAD_FAULT_NONE)
		fault = read_authority(head, request);
	return fault;
}

/* Leaves the fields that are for the other end, in order. */
static void
keep_end_to_end(const struct header *from, bool keep_length, struct header *ret)
{
	static const char *const names[] = { "host", "te", "http2-settings",
		"proxy-authorization", "proxy-authenticate",
		"proxy-authentication-info" };

	ret->count = 0;
	for (size_t i = 0; i < from->count; i++) {
		struct cursor name = from->fields[i].name;
		bool hop =
		    !keep_length && cursor_equals(name, "content-length");

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			hop = hop || cursor_equals(name, names[k]);
		if (!hop)
			ret->fields[ret->count++] = from->fields[i];
	}
}

enum head_fault
http2_request_read(
    const struct http2_head *head, bool ended, struct request *ret)
{
	struct request request = { .version = MESSAGE_HTTP_2,
		.keep_alive = true };
	enum head_fault fault = head->fault;
	bool tunnels = has(head, HTTP2_PROTOCOL);

	if (fault == HEAD_FAULT_NONE)
		fault = read_request_line(head, ended, &request);
	if (fault == HEAD_FAULT_NONE)
		fault = head_length(&head->header, &request.body);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (ended && request.body.length > 0)
		return HEAD_FAULT_LENGTH_DISAGREES;
	if (!ended && !tunnels && request.body.framing == MESSAGE_NO_BODY)
		request.body.framing = MESSAGE_CHUNKED;
	if (!ended && strcmp(request.method, "TRACE") == 0)
		return HEAD_FAULT_BODY;
	request.expects_continue =
	    header_lists(&head->header, "expect", "100-continue");
	request.takes_trailers = header_count(&head->header, "te") > 0;
	keep_end_to_end(&head->header, false, &request.header);
	*ret = request;
	return HEAD_FAULT_NONE;
}

/* ---- responses ---- */

static enum head_fault
read_status(const struct http2_head *head, struct response *response)
{
	struct cursor digits = head->pseudo[HTTP2_STATUS];
	uint64_t status;

	for (int i = 0; i < HTTP2_PSEUDO_COUNT; i++)
		if (has(head, (enum http2_pseudo)i) != (i == HTTP2_STATUS))
			return HEAD_FAULT_PSEUDO;
	if (digits.left != 3 || !cursor_decimal(&digits, 999, &status) ||
	    !cursor_is_empty(&digits) || status < 100)
		return HEAD_FAULT_STATUS;
	/* Nothing switches protocols here (RFC 9113 section 8.6). */
	if (status == 101)
		return HEAD_FAULT_STATUS;
	response->status = (uint16_t)status;
	return HEAD_FAULT_NONE;
}

/* Where the body ends; a Content-Length may be about another message. */
static enum head_fault
read_response_body(const struct http2_head *head, const char *method,
    bool ended, struct response *response)
{
	struct message_body *body = &response->body;
	enum head_fault fault = head_length(&head->header, body);
	bool interim = response->status < 200;
	bool none = interim || response->status == 204;

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if ((interim && ended) || (none && body->length > 0))
		return HEAD_FAULT_BODY;
	if (none || response->status == 304 || strcmp(method, "HEAD") == 0) {
		*body = (struct message_body){ 0 };
		return HEAD_FAULT_NONE;
	}
	if (ended && body->length > 0)
		return HEAD_FAULT_LENGTH_DISAGREES;
	if (ended)
		body->framing = MESSAGE_LENGTH;
	else if (body->framing == MESSAGE_NO_BODY)
		body->framing = MESSAGE_CHUNKED;
	return HEAD_FAULT_NONE;
}

enum head_fault
http2_response_read(const struct http2_head *head, const char *method,
    bool ended, struct response *ret)
{
	struct response response = { .version = MESSAGE_HTTP_2,
		.keep_alive = true };
	enum head_fault fault = head->fault;

	if (fault == HEAD_FAULT_NONE)
		fault = read_status(head, &response);
	if (fault == HEAD_FAULT_NONE)
		fault = read_response_body(head, method, ended, &response);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	response.reason = cursor_of_text(response_phrase(response.status));
	keep_end_to_end(&head->header,
	    response.status >= 200 && response.status != 204 &&
		response.body.framing == MESSAGE_NO_BODY,
	    &response.header);
	*ret = response;
	return HEAD_FAULT_NONE;
}

enum head_fault
http2_trailers_read(const struct http2_head *head, struct header *ret)
{
	if (head->fault != HEAD_FAULT_NONE)
		return head->fault;
	for (int i = 0; i < HTTP2_PSEUDO_COUNT; i++)
		if (has(head, (enum http2_pseudo)i))
			return HEAD_FAULT_PSEUDO;
	ret->count = 0;
	for (size_t i = 0; i < head->header.count; i++)
		if (head_may_trail(head->header.fields[i].name))
			ret->fields[ret->count++] = head->header.fields[i];
	return HEAD_FAULT_NONE;
}

/* ---- writing ---- */

static void
list_init(struct http2_list *list)
{
	list->count = 0;
	list->out = cursor_writer_of(list->text, sizeof(list->text));
}

static void
put(struct http2_list *list, const char *name, struct cursor value)
{
	assert(list->count < HTTP2_LIST_MAX);
	list->fields[list->count++] =
	    (struct header_field){ .name = cursor_of_text(name),
		    .value = value };
}

/* What was written since the list had so many bytes of text. */
static struct cursor
since(const struct http2_list *list, size_t start)
{
	return cursor_of(list->text + start, list->out.used - start);
}

static void
put_fields(struct http2_list *list, const struct header *header)
{
	for (size_t i = 0; i < header->count; i++)
		list->fields[list->count++] = header->fields[i];
}

static void
put_length(struct http2_list *list, const struct message_body *body)
{
	size_t start = list->out.used;

	if (body->framing != MESSAGE_LENGTH)
		return;
	cursor_put_decimal(&list->out, body->length);
	put(list, "content-length", since(list, start));
}

static void
put_path(
    struct http2_list *list, const struct request *request, struct cursor path)
{
	size_t start = list->out.used;

	if (request->form == REQUEST_ASTERISK)
		path = cursor_of_text("*");
	if (!request->has_query) {
		put(list, ":path", path);
		return;
	}
	cursor_put(&list->out, path.at, path.left);
	cursor_put_u8(&list->out, '?');
	cursor_put(&list->out, request->query.at, request->query.left);
	put(list, ":path", since(list, start));
}

void
http2_request_list(const struct request *request, struct cursor path,
    enum request_scheme scheme, struct http2_list *ret)
{
	bool tunnels = request->upgrade.left > 0;
	size_t start;

	list_init(ret);
	put(ret, ":method",
	    cursor_of_text(tunnels ? "CONNECT" : request->method));
	if (tunnels)
		put(ret, ":protocol", request->upgrade);
	put(ret, ":scheme",
	    cursor_of_text(scheme == REQUEST_HTTPS ? "https" : "http"));
	start = ret->out.used;
	authority_write(&request->authority, &ret->out);
	put(ret, ":authority", since(ret, start));
	put_path(ret, request, path);
	put_fields(ret, &request->header);
	if (request->takes_trailers)
		put(ret, "te", cursor_of_text("trailers"));
	put_length(ret, &request->body);
}

void
http2_response_list(const struct response *response, struct http2_list *ret)
{
	list_init(ret);
	cursor_put_decimal(&ret->out, response->status);
	put(ret, ":status", since(ret, 0));
	put_fields(ret, &response->header);
	put_length(ret, &response->body);
}

void
http2_trailers_list(const struct header *trailers, struct http2_list *ret)
{
	list_init(ret);
	put_fields(ret, trailers);
}
