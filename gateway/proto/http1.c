#include "gateway/proto/http1.h"

#include "gateway/proto/head.h"

#include <assert.h>
#include <string.h>

/* ---- lines ---- */

/*
 * Finds the empty line that ends a head.  A line that does not end with CR LF
 * is refused where it stands: its sender may wait for an answer already.
 */
static enum parse_result
find_end(struct cursor bytes, size_t *ret_length, enum head_fault *ret_fault)
{
	struct cursor rest = bytes, line;

	while (cursor_until(&rest, '\n', &line)) {
		if (line.left == 0 || line.at[line.left - 1] != '\r') {
			*ret_fault = HEAD_FAULT_LINE_END;
			return PARSE_BAD;
		}
		if (bytes.left - rest.left > LIMIT_HTTP_HEAD)
			break;
		if (line.left > 1)
			continue;
		*ret_length = bytes.left - rest.left;
		return PARSE_OK;
	}
	if (bytes.left < LIMIT_HTTP_HEAD)
		return PARSE_MORE;
	*ret_fault = HEAD_FAULT_HEAD_LONG;
	return PARSE_BAD;
}

/* The next line without its end; false if it is not there yet. */
static bool
take_line(struct cursor *bytes, struct cursor *ret)
{
	struct cursor line;

	if (!cursor_until(bytes, '\n', &line) || line.left == 0)
		return false;
	*ret = cursor_of(line.at, line.left - 1);
	return true;
}

/* What may stand in no line. */
static enum head_fault
line_fault(struct cursor line)
{
	for (size_t i = 0; i < line.left; i++) {
		if (line.at[i] == '\r')
			return HEAD_FAULT_LINE_END;
		if ((line.at[i] < 0x20 && line.at[i] != '\t') ||
		    line.at[i] == 0x7f)
			return HEAD_FAULT_CONTROL;
	}
	return HEAD_FAULT_NONE;
}

/* Why a line was no field. */
static enum head_fault
field_fault(struct cursor line)
{
	enum head_fault fault = line_fault(line);
	struct cursor name;

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (line.left > 0 && (line.at[0] == ' ' || line.at[0] == '\t'))
		return HEAD_FAULT_FOLD;
	if (cursor_until(&line, ':', &name) && name.left > 0 &&
	    (name.at[name.left - 1] == ' ' || name.at[name.left - 1] == '\t'))
		return HEAD_FAULT_FIELD_SPACE;
	return HEAD_FAULT_FIELD_NAME;
}

/* Reads the lines up to the empty one as fields. */
static enum head_fault
read_fields(struct cursor *lines, struct header *header)
{
	struct cursor line, name, value;
	int status;

	while (take_line(lines, &line) && line.left > 0) {
		value = line;
		if (!cursor_until(&value, ':', &name))
			return field_fault(line);
		status = header_add(header, name, value);
		if (status == STATUS_FULL)
			return HEAD_FAULT_FIELDS;
		if (status != STATUS_OK)
			return field_fault(line);
	}
	return HEAD_FAULT_NONE;
}

/* ---- what the fields say about the message ---- */

/* Where the body of a message ends that may have one. */
static enum head_fault
read_framing(const struct header *header, enum message_version version,
    struct message_body *ret)
{
	size_t lengths = header_count(header, "Content-Length");
	size_t codings = header_count(header, "Transfer-Encoding");
	struct message_body body = { .framing = MESSAGE_NO_BODY };
	struct cursor value;
	enum head_fault fault;

	if (lengths > 0 && codings > 0)
		return HEAD_FAULT_LENGTH_AND_CODING;
	if (codings > 1)
		return HEAD_FAULT_CODING;
	if (header_find(header, "Transfer-Encoding", &value)) {
		if (version == MESSAGE_HTTP_1_0)
			return HEAD_FAULT_CODING_VERSION;
		if (!header_is(value, "chunked"))
			return HEAD_FAULT_CODING;
		body.framing = MESSAGE_CHUNKED;
	}
	fault = head_length(header, &body);
	if (fault == HEAD_FAULT_NONE)
		*ret = body;
	return fault;
}

/*
 * The one protocol to upgrade to.  h2c is passed over: inside it nothing
 * would be judged.  An offer of several is taken as none, which every server
 * is free to do (RFC 9110 section 7.8).
 */
static struct cursor
read_upgrade(const struct header *header)
{
	struct cursor list, member, one = { 0 };

	if (!header_lists(header, "Connection", "upgrade") ||
	    header_count(header, "Upgrade") != 1 ||
	    !header_find(header, "Upgrade", &list))
		return one;
	while (header_member(&list, &member)) {
		if (header_is(member, "h2c"))
			continue;
		if (!cursor_is_empty(&one))
			return (struct cursor){ 0 };
		one = member;
	}
	return one;
}

/*
 * The names in all Connection fields, taken out before the fields are moved.
 * A head that names more than it could have is not honest.
 */
static enum head_fault
read_options(const struct header *header, struct header *options)
{
	struct cursor list, member;

	for (size_t i = 0; i < header->count; i++) {
		if (!header_is(header->fields[i].name, "Connection"))
			continue;
		list = header->fields[i].value;
		while (header_member(&list, &member)) {
			if (options->count == LIMIT_HTTP_FIELDS)
				return HEAD_FAULT_FIELDS;
			options->fields[options->count++].name = member;
		}
	}
	return HEAD_FAULT_NONE;
}

static bool
is_named(const struct header *options, struct cursor name)
{
	for (size_t i = 0; i < options->count; i++)
		if (header_same(options->fields[i].name, name))
			return true;
	return false;
}

static bool
governs_hop(struct cursor name)
{
	static const char *const names[] = { "Host", "Connection",
		"Transfer-Encoding", "Keep-Alive", "Proxy-Connection",
		"Proxy-Authorization", "Proxy-Authenticate",
		"Proxy-Authentication-Info", "TE", "Upgrade",
		"HTTP2-Settings" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (header_is(name, names[i]))
			return true;
	return false;
}

/* Leaves the fields that are for the other end, in order. */
static enum head_fault
keep_end_to_end(struct header *header, bool keep_length)
{
	struct header options;
	enum head_fault fault;
	size_t kept = 0;

	options.count = 0;
	fault = read_options(header, &options);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	for (size_t i = 0; i < header->count; i++) {
		struct cursor name = header->fields[i].name;
		bool length = header_is(name, "Content-Length");

		if (length ? !keep_length
			   : governs_hop(name) || is_named(&options, name))
			continue;
		header->fields[kept++] = header->fields[i];
	}
	header->count = kept;
	return HEAD_FAULT_NONE;
}

/* ---- requests ---- */

/* What stands behind "http://": an authority, a path, a query. */
static enum head_fault
read_absolute(struct cursor text, struct request *request)
{
	size_t end = 0;
	struct cursor host;

	while (end < text.left && text.at[end] != '/' && text.at[end] != '?')
		end++;
	if (!cursor_take(&text, end, &host) ||
	    authority_parse(host, &request->authority) != STATUS_OK)
		return HEAD_FAULT_TARGET;
	request->form = REQUEST_ABSOLUTE;
	head_split(text, request);
	return HEAD_FAULT_NONE;
}

static enum head_fault
read_target(struct cursor target, struct request *request)
{
	struct cursor scheme;
	enum head_fault fault = head_target_text(target);

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (target.at[0] == '/' || cursor_equals(target, "*"))
		return head_target(target, request);
	if (!cursor_until(&target, ':', &scheme) ||
	    !cursor_literal(&target, "//"))
		return HEAD_FAULT_TARGET;
	if (header_is(scheme, "http"))
		request->scheme = REQUEST_HTTP;
	else if (header_is(scheme, "https"))
		request->scheme = REQUEST_HTTPS;
	else
		return HEAD_FAULT_TARGET;
	return read_absolute(target, request);
}

/* Where a tunnel is to lead (RFC 9112 section 3.2.3). */
static enum head_fault
read_tunnel(struct cursor target, struct request *request)
{
	static const char tunnel[] = "CONNECT";
	enum head_fault fault = head_target_text(target);

	if (fault != HEAD_FAULT_NONE)
		return fault;
	static_assert(sizeof(tunnel) <= sizeof(request->method),
	    "the method's name fits");
	memcpy(request->method, tunnel, sizeof(tunnel));
	if (authority_parse(target, &request->authority) != STATUS_OK ||
	    request->authority.port == 0)
		return HEAD_FAULT_TARGET;
	request->form = REQUEST_AUTHORITY;
	return HEAD_FAULT_NONE;
}

static enum head_fault
read_version(struct cursor text, enum message_version *ret)
{
	if (cursor_equals(text, "HTTP/1.1"))
		*ret = MESSAGE_HTTP_1_1;
	else if (cursor_equals(text, "HTTP/1.0"))
		*ret = MESSAGE_HTTP_1_0;
	else
		return HEAD_FAULT_VERSION;
	return HEAD_FAULT_NONE;
}

static enum head_fault
read_request_line(struct cursor line, bool proxy, struct request *request)
{
	enum head_fault fault = line_fault(line);
	struct cursor method, target;
	bool tunnel;

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (!cursor_until(&line, ' ', &method))
		return HEAD_FAULT_START_LINE;
	fault = head_method(method, request);
	tunnel = proxy && fault == HEAD_FAULT_CONNECT;
	if (fault != HEAD_FAULT_NONE && !tunnel)
		return fault;
	/* A target and nothing behind it is HTTP/0.9. */
	if (!cursor_until(&line, ' ', &target))
		return HEAD_FAULT_VERSION;
	if (target.left == 0 || memchr(line.at, ' ', line.left) != NULL)
		return HEAD_FAULT_START_LINE;
	fault = tunnel ? read_tunnel(target, request)
		       : read_target(target, request);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	return read_version(line, &request->version);
}

static enum head_fault
read_host(struct request *request)
{
	uint16_t port = request->scheme == REQUEST_HTTPS ? 443 : 80;
	size_t count = header_count(&request->header, "Host");
	struct authority host;
	struct cursor value;

	if (count > 1)
		return HEAD_FAULT_HOST_TWICE;
	if (!header_find(&request->header, "Host", &value)) {
		if (request->version == MESSAGE_HTTP_1_0)
			return HEAD_FAULT_NONE;
		return HEAD_FAULT_HOST_MISSING;
	}
	if (authority_parse(value, &host) != STATUS_OK)
		return HEAD_FAULT_HOST;
	if (request->form == REQUEST_ABSOLUTE &&
	    !authority_equals(&host, &request->authority, port))
		return HEAD_FAULT_HOST_DISAGREES;
	if (request->form == REQUEST_AUTHORITY)
		return authority_equals(
			   &host, &request->authority, request->authority.port)
			   ? HEAD_FAULT_NONE
			   : HEAD_FAULT_HOST_DISAGREES;
	request->authority = host;
	return HEAD_FAULT_NONE;
}

/* Everything but the request line. */
static enum head_fault
read_request_fields(struct cursor lines, struct request *request)
{
	struct header *header = &request->header;
	bool recent = request->version != MESSAGE_HTTP_1_0;
	enum head_fault fault = read_fields(&lines, header);

	if (fault == HEAD_FAULT_NONE)
		fault = read_host(request);
	if (fault == HEAD_FAULT_NONE)
		fault = read_framing(header, request->version, &request->body);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (request->body.framing != MESSAGE_NO_BODY &&
	    (request->form == REQUEST_AUTHORITY ||
		strcmp(request->method, "TRACE") == 0))
		return HEAD_FAULT_BODY;
	/* A proxy keeps no HTTP/1.0 client (RFC 9112 section 9.3). */
	request->keep_alive =
	    recent && !header_lists(header, "Connection", "close");
	if (recent) {
		request->expects_continue =
		    header_lists(header, "Expect", "100-continue");
		request->takes_trailers =
		    header_lists(header, "TE", "trailers");
		request->upgrade = read_upgrade(header);
	}
	return keep_end_to_end(header, false);
}

static enum parse_result
parse_request(struct cursor bytes, bool proxy, struct request *ret,
    enum head_fault *ret_fault)
{
	struct request request = { 0 };
	struct cursor lines = bytes, line;
	enum head_fault fault = HEAD_FAULT_NONE;
	enum parse_result result = find_end(bytes, &request.length, &fault);

	if (result == PARSE_BAD) {
		*ret_fault = fault;
		return PARSE_BAD;
	}
	if (result == PARSE_OK)
		lines = cursor_of(bytes.at, request.length);
	if (!take_line(&lines, &line))
		return PARSE_MORE;
	fault = read_request_line(line, proxy, &request);
	if (fault == HEAD_FAULT_NONE && result == PARSE_OK)
		fault = read_request_fields(lines, &request);
	if (fault != HEAD_FAULT_NONE) {
		*ret_fault = fault;
		return PARSE_BAD;
	}
	if (result == PARSE_OK)
		*ret = request;
	return result;
}

enum parse_result
http1_request_parse(
    struct cursor bytes, struct request *ret, enum head_fault *ret_fault)
{
	return parse_request(bytes, false, ret, ret_fault);
}

enum parse_result
http1_proxy_parse(
    struct cursor bytes, struct request *ret, enum head_fault *ret_fault)
{
	return parse_request(bytes, true, ret, ret_fault);
}

/* ---- responses ---- */

static enum head_fault
read_status_line(struct cursor line, struct response *response)
{
	enum head_fault fault = line_fault(line);
	struct cursor version, digits;
	uint64_t status;

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (!cursor_until(&line, ' ', &version))
		return HEAD_FAULT_START_LINE;
	fault = read_version(version, &response->version);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (!cursor_take(&line, 3, &digits) ||
	    !cursor_decimal(&digits, 999, &status) ||
	    !cursor_is_empty(&digits) || status < 100)
		return HEAD_FAULT_STATUS;
	/* Many servers leave the space out with the phrase behind it. */
	if (!cursor_is_empty(&line) && !cursor_literal(&line, " "))
		return HEAD_FAULT_STATUS;
	response->status = (uint16_t)status;
	response->reason = line;
	return HEAD_FAULT_NONE;
}

/*
 * RFC 9112 section 6.3 for responses.  A 204 with "Content-Length: 0" is let
 * pass: it is common, and says the same twice.
 */
static enum head_fault
read_response_body(struct response *response, const char *method)
{
	enum head_fault fault =
	    read_framing(&response->header, response->version, &response->body);
	bool none = response->status < 200 || response->status == 204;

	if (fault != HEAD_FAULT_NONE)
		return fault;
	if (none && (response->body.framing == MESSAGE_CHUNKED ||
			response->body.length > 0))
		return HEAD_FAULT_BODY;
	if (none || response->status == 304 || strcmp(method, "HEAD") == 0)
		response->body = (struct message_body){ 0 };
	else if (response->body.framing == MESSAGE_NO_BODY)
		response->body.framing = MESSAGE_UNTIL_CLOSE;
	return HEAD_FAULT_NONE;
}

static enum head_fault
read_response_fields(
    struct cursor lines, const char *method, struct response *response)
{
	struct header *header = &response->header;
	enum head_fault fault = read_fields(&lines, header);

	if (fault == HEAD_FAULT_NONE)
		fault = read_response_body(response, method);
	if (fault != HEAD_FAULT_NONE)
		return fault;
	response->keep_alive =
	    response->body.framing != MESSAGE_UNTIL_CLOSE &&
	    !header_lists(header, "Connection", "close") &&
	    (response->version == MESSAGE_HTTP_1_1 ||
		header_lists(header, "Connection", "keep-alive"));
	if (response->status == 101)
		response->upgrade = read_upgrade(header);
	return keep_end_to_end(
	    header, response->status >= 200 && response->status != 204 &&
			response->body.framing == MESSAGE_NO_BODY);
}

enum parse_result
http1_response_parse(struct cursor bytes, const char *method,
    struct response *ret, enum head_fault *ret_fault)
{
	struct response response = { 0 };
	struct cursor lines = bytes, line;
	enum head_fault fault = HEAD_FAULT_NONE;
	enum parse_result result = find_end(bytes, &response.length, &fault);

	if (result == PARSE_BAD) {
		*ret_fault = fault;
		return PARSE_BAD;
	}
	if (result == PARSE_OK)
		lines = cursor_of(bytes.at, response.length);
	if (!take_line(&lines, &line))
		return PARSE_MORE;
	fault = read_status_line(line, &response);
	if (fault == HEAD_FAULT_NONE && result == PARSE_OK)
		fault = read_response_fields(lines, method, &response);
	if (fault != HEAD_FAULT_NONE) {
		*ret_fault = fault;
		return PARSE_BAD;
	}
	if (result == PARSE_OK)
		*ret = response;
	return result;
}

/* ---- writing ---- */

static void
write_body(const struct message_body *body, struct cursor_writer *out)
{
	switch (body->framing) {
	case MESSAGE_NO_BODY:
	case MESSAGE_UNTIL_CLOSE:
		return;
	case MESSAGE_LENGTH:
		cursor_put_text(out, "Content-Length: ");
		cursor_put_decimal(out, body->length);
		cursor_put_text(out, "\r\n");
		return;
	case MESSAGE_CHUNKED:
		cursor_put_text(out, "Transfer-Encoding: chunked\r\n");
		return;
	}
}

static void
write_connection(enum http1_connection connection, struct cursor upgrade,
    struct cursor_writer *out)
{
	switch (connection) {
	case HTTP1_KEEP:
		return;
	case HTTP1_CLOSE:
		cursor_put_text(out, "Connection: close\r\n");
		return;
	case HTTP1_UPGRADE:
		cursor_put_text(out, "Connection: Upgrade\r\nUpgrade: ");
		cursor_put(out, upgrade.at, upgrade.left);
		cursor_put_text(out, "\r\n");
		return;
	}
}

void
http1_request_write(const struct request *request, struct cursor path,
    enum http1_connection connection, struct cursor_writer *out)
{
	cursor_put_text(out, request->method);
	cursor_put_u8(out, ' ');
	if (request->form == REQUEST_ASTERISK)
		cursor_put_u8(out, '*');
	else
		cursor_put(out, path.at, path.left);
	if (request->has_query) {
		cursor_put_u8(out, '?');
		cursor_put(out, request->query.at, request->query.left);
	}
	cursor_put_text(out, " HTTP/1.1\r\nHost: ");
	authority_write(&request->authority, out);
	cursor_put_text(out, "\r\n");
	header_write(&request->header, out);
	write_body(&request->body, out);
	write_connection(connection, request->upgrade, out);
	cursor_put_text(out, "\r\n");
}

void
http1_response_write(const struct response *response,
    enum http1_connection connection, struct cursor_writer *out)
{
	cursor_put_text(out, "HTTP/1.1 ");
	cursor_put_decimal(out, response->status);
	cursor_put_u8(out, ' ');
	cursor_put(out, response->reason.at, response->reason.left);
	cursor_put_text(out, "\r\n");
	header_write(&response->header, out);
	write_body(&response->body, out);
	write_connection(connection, response->upgrade, out);
	cursor_put_text(out, "\r\n");
}
