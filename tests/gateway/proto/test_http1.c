/*
 * What the vectors cannot show: the struct behind a head, limits to the byte,
 * and outputs that stay alone on failure.
 */
#include "gateway/proto/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static char head[2 * LIMIT_HTTP_HEAD];

static struct request
request_of(const char *text)
{
	struct request request;
	enum head_fault fault = HEAD_FAULT_NONE;

	if (http1_request_parse(cursor_of_text(text), &request, &fault) !=
	    PARSE_OK)
		fail_msg("%s: %s", text, head_fault_words(fault));
	return request;
}

static struct response
response_of(const char *text, const char *method)
{
	struct response response;
	enum head_fault fault = HEAD_FAULT_NONE;

	if (http1_response_parse(
		cursor_of_text(text), method, &response, &fault) != PARSE_OK)
		fail_msg("%s: %s", text, head_fault_words(fault));
	return response;
}

static void
a_request_is_read_into_its_parts(void **state)
{
	struct request request =
	    request_of("POST http://A.test:8080/p/q?x=1 HTTP/1.1\r\n"
		       "Host: a.test:8080\r\nExpect: 100-Continue\r\n"
		       "Content-Length: 12\r\n\r\nbody");

	(void)state;
	assert_string_equal(request.method, "POST");
	assert_int_equal(request.form, REQUEST_ABSOLUTE);
	assert_int_equal(request.scheme, REQUEST_HTTP);
	assert_true(cursor_equals(request.path, "/p/q"));
	assert_true(cursor_equals(request.query, "x=1"));
	assert_string_equal(request.authority.name.text, "a.test");
	assert_int_equal(request.authority.port, 8080);
	assert_true(request.keep_alive);
	assert_true(request.expects_continue);
	assert_int_equal(request.body.framing, MESSAGE_LENGTH);
	assert_int_equal(request.body.length, 12);
	assert_int_equal(request.header.count, 1);
	assert_int_equal(request.length, 105);
}

static void
keep_alive_ends_where_either_side_says(void **state)
{
	(void)state;
	assert_true(
	    request_of("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").keep_alive);
	assert_false(request_of("GET / HTTP/1.1\r\nHost: a.test\r\n"
				"Connection: x, CLOSE\r\n\r\n")
			 .keep_alive);
	assert_false(request_of("GET / HTTP/1.0\r\nHost: a.test\r\n"
				"Connection: keep-alive\r\n\r\n")
			 .keep_alive);
	assert_false(response_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
				 "Connection: keep-alive, close\r\n\r\n",
	    "GET")
			 .keep_alive);
	assert_false(response_of("HTTP/1.1 200 OK\r\n\r\n", "GET").keep_alive);
	assert_true(
	    response_of("HTTP/1.1 304 Not Modified\r\n\r\n", "GET").keep_alive);
}

static void
http_1_0_expects_nothing_and_upgrades_to_nothing(void **state)
{
	struct request request =
	    request_of("POST / HTTP/1.0\r\nExpect: 100-continue\r\n"
		       "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n");

	(void)state;
	assert_false(request.expects_continue);
	assert_int_equal(request.upgrade.left, 0);
	assert_false(authority_is_set(&request.authority));
}

static void
a_body_ends_by_its_response_and_its_request(void **state)
{
	static const struct {
		const char *head, *method;
		enum message_framing framing;
		uint64_t length;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "GET",
		    MESSAGE_LENGTH, 7 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "HEAD",
		    MESSAGE_NO_BODY, 0 },
		{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
		    "GET", MESSAGE_NO_BODY, 0 },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "GET", MESSAGE_NO_BODY,
		    0 },
		{ "HTTP/1.1 100 Continue\r\n\r\n", "POST", MESSAGE_NO_BODY, 0 },
		{ "HTTP/1.1 101 Switching Protocols\r\n\r\n", "GET",
		    MESSAGE_NO_BODY, 0 },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		    "GET", MESSAGE_CHUNKED, 0 },
		{ "HTTP/1.1 200 OK\r\n\r\n", "GET", MESSAGE_UNTIL_CLOSE, 0 },
		{ "HTTP/1.0 200 OK\r\n\r\n", "HEAD", MESSAGE_NO_BODY, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct response response =
		    response_of(rows[i].head, rows[i].method);

		assert_int_equal(response.body.framing, rows[i].framing);
		assert_int_equal(response.body.length, rows[i].length);
	}
}

/* S10: all interim responses are followed by another, but for 101. */
static void
interim_responses_are_told_from_final_ones(void **state)
{
	struct response response = { .status = 100 };

	(void)state;
	assert_true(response_is_interim(&response));
	response.status = 103;
	assert_true(response_is_interim(&response));
	response.status = 101;
	assert_false(response_is_interim(&response));
	response.status = 200;
	assert_false(response_is_interim(&response));
}

/* A head of exactly that many bytes, filled up by one field. */
static size_t
head_of(size_t length)
{
	struct cursor text =
	    cursor_of_text("GET / HTTP/1.1\r\nHost: a.test\r\nFill: ");
	struct cursor end = cursor_of_text("\r\n\r\n");

	memset(head, 'x', sizeof(head));
	assert_true(cursor_copy(&text, text.left, head));
	assert_true(cursor_copy(&end, 4, head + length - 4));
	return length;
}

/* S28. */
static void
the_longest_head_is_read_and_one_byte_more_is_not(void **state)
{
	struct request request = { .length = 77 };
	enum head_fault fault = HEAD_FAULT_NONE;
	size_t length = head_of(LIMIT_HTTP_HEAD);

	(void)state;
	assert_int_equal(
	    http1_request_parse(cursor_of(head, length), &request, &fault),
	    PARSE_OK);
	assert_int_equal(request.length, LIMIT_HTTP_HEAD);
	/* What follows is not counted. */
	assert_int_equal(http1_request_parse(
			     cursor_of(head, sizeof(head)), &request, &fault),
	    PARSE_OK);
	length = head_of(LIMIT_HTTP_HEAD + 1);
	request.length = 77;
	assert_int_equal(
	    http1_request_parse(
		cursor_of(head, LIMIT_HTTP_HEAD - 1), &request, &fault),
	    PARSE_MORE);
	assert_int_equal(
	    http1_request_parse(cursor_of(head, length), &request, &fault),
	    PARSE_BAD);
	assert_int_equal(fault, HEAD_FAULT_HEAD_LONG);
	assert_int_equal(head_fault_status(fault), 431);
	assert_int_equal(request.length, 77);
}

/* A client that is wrong may be waiting for an answer already. */
static void
what_is_wrong_already_is_refused_before_the_end(void **state)
{
	static const struct {
		const char *begun;
		enum head_fault fault;
	} rows[] = {
		{ "GET /\r\n", HEAD_FAULT_VERSION },
		{ "GET / HTTP/3\r\nHo", HEAD_FAULT_VERSION },
		{ "CONNECT a.test:443 HTTP/1.1\r\n", HEAD_FAULT_CONNECT },
		{ "GET / HTTP/1.1\n", HEAD_FAULT_LINE_END },
		{ "GET / HTTP/1.1\r\nA: b\nC", HEAD_FAULT_LINE_END },
		{ "\r\n", HEAD_FAULT_START_LINE },
	};
	struct request request;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum head_fault fault = HEAD_FAULT_NONE;

		assert_int_equal(
		    http1_request_parse(
			cursor_of_text(rows[i].begun), &request, &fault),
		    PARSE_BAD);
		assert_int_equal(fault, rows[i].fault);
	}
}

static void
a_head_without_room_says_so(void **state)
{
	struct request request =
	    request_of("GET /abc HTTP/1.1\r\nHost: a.test\r\nA: b\r\n\r\n");
	char bytes[100];
	struct cursor_writer out;

	(void)state;
	out = cursor_writer_of(bytes, sizeof(bytes));
	http1_request_write(&request, request.path, HTTP1_KEEP, &out);
	assert_true(cursor_written(&out));
	for (size_t size = 0; size < out.used; size++) {
		struct cursor_writer small = cursor_writer_of(bytes, size);

		http1_request_write(&request, request.path, HTTP1_KEEP, &small);
		assert_false(cursor_written(&small));
	}
}

/* The path that was judged goes out, whatever the client spelled. */
static void
the_judged_path_goes_out(void **state)
{
	struct request request =
	    request_of("GET /%61/../b?q HTTP/1.1\r\nHost: a.test\r\n\r\n");
	char bytes[100];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	http1_request_write(&request, cursor_of_text("/b"), HTTP1_KEEP, &out);
	assert_true(cursor_equals(cursor_of(bytes, out.used),
	    "GET /b?q HTTP/1.1\r\nHost: a.test\r\n\r\n"));
}

/* A credential is put in after "Connection: authorization" was read. */
static void
a_field_set_later_cannot_be_named_away(void **state)
{
	struct request request = request_of(
	    "GET / HTTP/1.1\r\nHost: a.test\r\n"
	    "Connection: Authorization, Host\r\nAuthorization: Bearer x\r\n"
	    "\r\n");
	char bytes[100];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(header_set(&request.header, "Authorization",
			     cursor_of_text("Bearer granted")),
	    STATUS_OK);
	http1_request_write(&request, request.path, HTTP1_KEEP, &out);
	assert_true(cursor_equals(cursor_of(bytes, out.used),
	    "GET / HTTP/1.1\r\nHost: a.test\r\n"
	    "Authorization: Bearer granted\r\n\r\n"));
}

static void
every_fault_has_an_id_words_a_reason_and_a_status(void **state)
{
	(void)state;
	for (unsigned i = HEAD_FAULT_NONE + 1; i < HEAD_FAULT_COUNT; i++) {
		enum head_fault fault = (enum head_fault)i;
		enum reason reason = head_fault_reason(fault);
		unsigned status = head_fault_status(fault);

		assert_true(strlen(head_fault_words(fault)) > 0);
		assert_true(
		    reason == REASON_MALFORMED || reason == REASON_AMBIGUOUS);
		assert_true(status == 400 || status == 414 || status == 431);
		for (unsigned other = 0; other < i; other++)
			assert_string_not_equal(head_fault_id(fault),
			    head_fault_id((enum head_fault)other));
	}
}

static void
only_methods_known_to_be_idempotent_are(void **state)
{
	struct request request = { .method = "PUT" };

	(void)state;
	assert_true(request_is_idempotent(&request));
	memcpy(request.method, "POST", 5);
	assert_false(request_is_idempotent(&request));
	memcpy(request.method, "PATCH", 6);
	assert_false(request_is_idempotent(&request));
	memcpy(request.method, "GE", 3);
	assert_false(request_is_idempotent(&request));
}

static void
a_status_has_its_phrase(void **state)
{
	(void)state;
	assert_string_equal(response_phrase(403), "Forbidden");
	assert_string_equal(response_phrase(999), "Status");
}

static enum parse_result
proxy(const char *text, struct request *ret, enum head_fault *ret_fault)
{
	return http1_proxy_parse(cursor_of_text(text), ret, ret_fault);
}

static void
a_proxy_is_told_where_a_tunnel_leads(void **state)
{
	struct request request;
	enum head_fault fault;

	(void)state;
	assert_int_equal(proxy("CONNECT A.test:443 HTTP/1.1\r\nHost: a.test\r\n"
			       "\r\n",
			     &request, &fault),
	    PARSE_OK);
	assert_int_equal(request.form, REQUEST_AUTHORITY);
	assert_string_equal(request.method, "CONNECT");
	assert_string_equal(request.authority.name.text, "a.test");
	assert_int_equal(request.authority.port, 443);
	assert_int_equal(
	    proxy("CONNECT [::1]:1 HTTP/1.0\r\n\r\n", &request, &fault),
	    PARSE_OK);
	assert_int_equal(request.authority.literal.length, 16);
	assert_int_equal(proxy("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
			       "\r\n",
			     &request, &fault),
	    PARSE_OK);
	assert_int_equal(request.form, REQUEST_ABSOLUTE);
}

/* B11: whatever is no host and port leads nowhere. */
static void
a_tunnel_to_no_host_or_two_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum head_fault fault;
	} cases[] = {
		{ "CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
		    HEAD_FAULT_TARGET },
		{ "CONNECT :443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
		    HEAD_FAULT_TARGET },
		{ "CONNECT u@a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
		    HEAD_FAULT_TARGET },
		{ "CONNECT a.test:80:80 HTTP/1.1\r\nHost: a.test\r\n\r\n",
		    HEAD_FAULT_TARGET },
		{ "CONNECT /x HTTP/1.1\r\nHost: a.test\r\n\r\n",
		    HEAD_FAULT_TARGET },
		{ "CONNECT a.test:443 HTTP/1.1\r\nHost: b.test:443\r\n\r\n",
		    HEAD_FAULT_HOST_DISAGREES },
		{ "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:80\r\n\r\n",
		    HEAD_FAULT_HOST_DISAGREES },
		{ "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n"
		  "Content-Length: 0\r\n\r\n",
		    HEAD_FAULT_BODY },
		{ "CONNECT a.test:443 HTTP/1.1\r\n\r\n",
		    HEAD_FAULT_HOST_MISSING },
	};
	struct request request;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum head_fault fault = HEAD_FAULT_NONE;

		assert_int_equal(
		    proxy(cases[i].text, &request, &fault), PARSE_BAD);
		assert_int_equal(fault, cases[i].fault);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_proxy_is_told_where_a_tunnel_leads),
		cmocka_unit_test(a_tunnel_to_no_host_or_two_is_refused),
		cmocka_unit_test(a_request_is_read_into_its_parts),
		cmocka_unit_test(keep_alive_ends_where_either_side_says),
		cmocka_unit_test(
		    http_1_0_expects_nothing_and_upgrades_to_nothing),
		cmocka_unit_test(a_body_ends_by_its_response_and_its_request),
		cmocka_unit_test(interim_responses_are_told_from_final_ones),
		cmocka_unit_test(
		    the_longest_head_is_read_and_one_byte_more_is_not),
		cmocka_unit_test(
		    what_is_wrong_already_is_refused_before_the_end),
		cmocka_unit_test(a_head_without_room_says_so),
		cmocka_unit_test(the_judged_path_goes_out),
		cmocka_unit_test(a_field_set_later_cannot_be_named_away),
		cmocka_unit_test(
		    every_fault_has_an_id_words_a_reason_and_a_status),
		cmocka_unit_test(only_methods_known_to_be_idempotent_are),
		cmocka_unit_test(a_status_has_its_phrase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
