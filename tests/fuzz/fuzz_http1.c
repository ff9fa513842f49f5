/*
 * http1_request_parse, http1_response_parse and their writers: a head is not
 * complete before its last byte; what is written is read again, as the same
 * message, and written again as the same bytes.
 */
#include "gateway/proto/http1.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char first[4 * LIMIT_HTTP_HEAD], second[4 * LIMIT_HTTP_HEAD];

/* What we add may be more than we would take ourselves. */
static bool
is_only_too_much(enum parse_result result, enum head_fault fault)
{
	return result == PARSE_BAD &&
	       (fault == HEAD_FAULT_FIELDS || fault == HEAD_FAULT_HEAD_LONG);
}

static void
check_request(struct cursor bytes)
{
	struct cursor_writer out = cursor_writer_of(first, sizeof(first));
	struct cursor_writer copy = cursor_writer_of(second, sizeof(second));
	struct request request, again;
	enum head_fault fault = HEAD_FAULT_NONE;
	enum parse_result result = http1_request_parse(bytes, &request, &fault);

	if (result == PARSE_BAD)
		assert(fault > HEAD_FAULT_NONE && fault < HEAD_FAULT_COUNT);
	if (result != PARSE_OK)
		return;
	assert(request.length > 0 && request.length <= bytes.left);
	assert(http1_request_parse(cursor_of(bytes.at, request.length - 1),
		   &again, &fault) == PARSE_MORE);
	if (!authority_is_set(&request.authority))
		assert(authority_parse(cursor_of_text("a.test"),
			   &request.authority) == STATUS_OK);
	http1_request_write(&request, request.path, HTTP1_KEEP, &out);
	assert(cursor_written(&out));
	result =
	    http1_request_parse(cursor_of(first, out.used), &again, &fault);
	if (is_only_too_much(result, fault))
		return;
	assert(result == PARSE_OK && again.length == out.used);
	assert(strcmp(request.method, again.method) == 0);
	assert(request.body.framing == again.body.framing &&
	       request.body.length == again.body.length);
	assert(authority_equals(&request.authority, &again.authority, 0));
	assert(request.header.count == again.header.count);
	http1_request_write(&again, again.path, HTTP1_KEEP, &copy);
	assert(copy.used == out.used && memcmp(first, second, out.used) == 0);
}

/* A proxy reads everything else as a server does, and CONNECT as well. */
static void
check_proxy(struct cursor bytes)
{
	struct request request, proxied;
	enum head_fault fault = HEAD_FAULT_NONE;
	enum parse_result result = http1_request_parse(bytes, &request, &fault);
	enum parse_result other = http1_proxy_parse(bytes, &proxied, &fault);

	if (other == PARSE_OK && proxied.form == REQUEST_AUTHORITY) {
		assert(result == PARSE_BAD);
		assert(authority_is_set(&proxied.authority));
		assert(proxied.authority.port != 0);
		assert(proxied.body.framing == MESSAGE_NO_BODY);
		return;
	}
	if (result != PARSE_BAD)
		assert(other == result);
	if (other == PARSE_OK)
		assert(result == PARSE_OK && request.length == proxied.length);
}

static void
check_response(struct cursor bytes, const char *method)
{
	struct cursor_writer out = cursor_writer_of(first, sizeof(first));
	struct response response, again;
	enum head_fault fault = HEAD_FAULT_NONE;
	enum parse_result result =
	    http1_response_parse(bytes, method, &response, &fault);

	if (result == PARSE_BAD)
		assert(fault > HEAD_FAULT_NONE && fault < HEAD_FAULT_COUNT);
	if (result != PARSE_OK)
		return;
	assert(response.length > 0 && response.length <= bytes.left);
	http1_response_write(&response, HTTP1_KEEP, &out);
	assert(cursor_written(&out));
	result = http1_response_parse(
	    cursor_of(first, out.used), method, &again, &fault);
	if (is_only_too_much(result, fault))
		return;
	assert(result == PARSE_OK && again.length == out.used);
	assert(response.status == again.status);
	assert(response.body.framing == again.body.framing &&
	       response.body.length == again.body.length);
	assert(response.header.count == again.header.count);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	check_proxy(cursor_of(bytes, length));
	check_request(cursor_of(bytes, length));
	check_response(cursor_of(bytes, length), "GET");
	check_response(cursor_of(bytes, length), "HEAD");
	return 0;
}
