/*
 * http2_head_add, http2_request_read, http2_response_read and the lists: what
 * is listed anew is read again as the same message, and none of it can break
 * a head of HTTP/1 or a list of HTTP/2.
 *
 * The input is fields: a length and a name, a length and a value.
 */
#include "gateway/proto/http1.h"
#include "gateway/proto/http2.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char bytes1[LIMIT_HTTP_HEAD], bytes2[4 * LIMIT_HTTP_HEAD];
static unsigned char text[4 * LIMIT_HTTP_HEAD];
static struct http2_head first, second;
static struct http2_list list;

static void
gather(struct cursor input)
{
	struct cursor name, value;
	uint8_t length;

	http2_head_init(&first, bytes1, sizeof(bytes1));
	while (
	    cursor_u8(&input, &length) && cursor_take(&input, length, &name) &&
	    cursor_u8(&input, &length) && cursor_take(&input, length, &value))
		http2_head_add(&first, name, value);
}

static void
gather_list(void)
{
	assert(cursor_written(&list.out));
	http2_head_init(&second, bytes2, sizeof(bytes2));
	for (size_t i = 0; i < list.count; i++)
		http2_head_add(
		    &second, list.fields[i].name, list.fields[i].value);
}

/* What goes to a server of HTTP/1 is read there as the same. */
static void
check_http1(const struct request *request)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct request again;
	enum head_fault fault = HEAD_FAULT_NONE;

	http1_request_write(request, request->path,
	    request->upgrade.left > 0 ? HTTP1_UPGRADE : HTTP1_KEEP, &out);
	assert(cursor_written(&out));
	if (http1_request_parse(cursor_of(text, out.used), &again, &fault) !=
	    PARSE_OK) {
		assert(fault == HEAD_FAULT_FIELDS ||
		       fault == HEAD_FAULT_HEAD_LONG);
		return;
	}
	assert(again.length == out.used);
	assert(strcmp(again.method, request->method) == 0);
	assert(again.header.count == request->header.count);
	assert(again.body.framing == request->body.framing &&
	       again.body.length == request->body.length);
}

static void
check_request(bool ended)
{
	struct request request, again;
	enum head_fault fault = http2_request_read(&first, ended, &request);

	assert(fault < HEAD_FAULT_COUNT);
	if (fault != HEAD_FAULT_NONE)
		return;
	assert(strcmp(request.method, "CONNECT") != 0);
	check_http1(&request);
	http2_request_list(&request, request.path, request.scheme, &list);
	gather_list();
	fault = http2_request_read(&second, ended, &again);
	if (fault == HEAD_FAULT_FIELDS)
		return;
	assert(fault == HEAD_FAULT_NONE);
	assert(strcmp(request.method, again.method) == 0);
	assert(request.scheme == again.scheme && request.form == again.form);
	assert(request.header.count == again.header.count);
	assert(request.body.framing == again.body.framing &&
	       request.body.length == again.body.length);
	assert(authority_equals(&request.authority, &again.authority, 0));
}

static void
check_response(const char *method, bool ended)
{
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct response response, again;
	enum head_fault fault =
	    http2_response_read(&first, method, ended, &response);

	assert(fault < HEAD_FAULT_COUNT);
	if (fault != HEAD_FAULT_NONE)
		return;
	http1_response_write(&response, HTTP1_KEEP, &out);
	assert(cursor_written(&out));
	http2_response_list(&response, &list);
	gather_list();
	fault = http2_response_read(&second, method, ended, &again);
	assert(fault == HEAD_FAULT_NONE || fault == HEAD_FAULT_FIELDS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct header trailers;

	gather(cursor_of(bytes, length));
	check_request(true);
	check_request(false);
	check_response("GET", false);
	check_response("HEAD", true);
	if (http2_trailers_read(&first, &trailers) == HEAD_FAULT_NONE) {
		http2_trailers_list(&trailers, &list);
		assert(list.count == trailers.count);
	}
	return 0;
}
