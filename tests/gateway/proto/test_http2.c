/*
 * Each rule of RFC 9113 section 8 that a head can break, and what a good one
 * becomes.  Heads are written here a field a line: "name=value".
 */
#include "gateway/proto/http2.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define GET ":method=GET\n:scheme=https\n:authority=a.test\n:path=/\n"

static struct http2_head head;
static unsigned char room[LIMIT_HTTP_HEAD];

static void
gather(const char *text)
{
	struct cursor lines = cursor_of_text(text), line, name;

	http2_head_init(&head, room, sizeof(room));
	while (cursor_until(&lines, '\n', &line)) {
		assert_true(cursor_until(&line, '=', &name));
		http2_head_add(&head, name, line);
	}
}

static struct request
request_of(const char *text, bool ended)
{
	struct request request = { .method = "untouched" };
	enum head_fault fault;

	gather(text);
	fault = http2_request_read(&head, ended, &request);
	if (fault != HEAD_FAULT_NONE)
		fail_msg("%s: %s", text, head_fault_words(fault));
	return request;
}

static struct response
response_of(const char *text, const char *method, bool ended)
{
	struct response response = { .status = 0 };
	enum head_fault fault;

	gather(text);
	fault = http2_response_read(&head, method, ended, &response);
	if (fault != HEAD_FAULT_NONE)
		fail_msg("%s: %s", text, head_fault_words(fault));
	return response;
}

static const struct {
	const char *head;
	enum head_fault fault;
	bool ended;
} bad_requests[] = {
	{ "", HEAD_FAULT_PSEUDO, true },
	{ ":scheme=https\n:authority=a.test\n:path=/\n", HEAD_FAULT_PSEUDO,
	    true },
	{ ":method=GET\n:authority=a.test\n:path=/\n", HEAD_FAULT_PSEUDO,
	    true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n", HEAD_FAULT_PSEUDO,
	    true },
	{ ":method=GET\n:scheme=https\n:path=/\n", HEAD_FAULT_HOST_MISSING,
	    true },
	{ GET ":path=/\n", HEAD_FAULT_PSEUDO, true },
	{ GET ":status=200\n", HEAD_FAULT_PSEUDO, true },
	{ GET ":odd=1\n", HEAD_FAULT_PSEUDO, true },
	{ ":method=GET\n:scheme=https\na=b\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_PSEUDO, true },
	{ ":Method=GET\n:scheme=https\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_PSEUDO, true },
	{ ":method=CONNECT\n:authority=a.test:443\n", HEAD_FAULT_CONNECT,
	    true },
	{ ":method=CONNECT\n:scheme=https\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_CONNECT, false },
	{ ":method=get\n:scheme=https\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_METHOD, true },
	{ ":method=GET\n:scheme=ftp\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n:path=\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n:path=x\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n"
	  ":path=https://b.test/\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n:path=*\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test\n:path=/a b\n",
	    HEAD_FAULT_TARGET, true },
	{ ":method=GET\n:scheme=https\n:authority=u@a.test\n:path=/\n",
	    HEAD_FAULT_HOST, true },
	{ ":method=GET\n:scheme=https\n:authority=a.test:80:80\n:path=/\n",
	    HEAD_FAULT_HOST, true },
	{ ":method=GET\n:scheme=https\n:authority=\n:path=/\n", HEAD_FAULT_HOST,
	    true },
	{ GET "host=b.test\n", HEAD_FAULT_HOST_DISAGREES, true },
	{ GET "host=a.test\nhost=a.test\n", HEAD_FAULT_HOST_TWICE, true },
	{ GET "Accept=x\n", HEAD_FAULT_FIELD_CASE, true },
	{ GET "a b=x\n", HEAD_FAULT_FIELD_NAME, true },
	{ GET "=x\n", HEAD_FAULT_FIELD_NAME, true },
	{ GET "a=x\r\n", HEAD_FAULT_CONTROL, true },
	{ GET "a= x\n", HEAD_FAULT_BLANK, true },
	{ GET "a=x\t\n", HEAD_FAULT_BLANK, true },
	{ GET "connection=close\n", HEAD_FAULT_HOP_FIELD, true },
	{ GET "keep-alive=1\n", HEAD_FAULT_HOP_FIELD, true },
	{ GET "proxy-connection=x\n", HEAD_FAULT_HOP_FIELD, true },
	{ GET "transfer-encoding=chunked\n", HEAD_FAULT_HOP_FIELD, false },
	{ GET "upgrade=h2c\n", HEAD_FAULT_HOP_FIELD, true },
	{ GET "te=gzip\n", HEAD_FAULT_HOP_FIELD, true },
	{ GET "content-length=3\n", HEAD_FAULT_LENGTH_DISAGREES, true },
	{ GET "content-length=+3\n", HEAD_FAULT_LENGTH, false },
	{ GET "content-length=3\ncontent-length=3\n", HEAD_FAULT_LENGTH_TWICE,
	    false },
	{ ":method=TRACE\n:scheme=https\n:authority=a.test\n:path=/\n",
	    HEAD_FAULT_BODY, false },
	{ GET ":protocol=websocket\n", HEAD_FAULT_PSEUDO, false },
	{ ":method=CONNECT\n:protocol=a b\n:scheme=https\n:authority=a.test\n"
	  ":path=/\n",
	    HEAD_FAULT_PSEUDO, false },
	{ ":method=CONNECT\n:protocol=websocket\n:scheme=https\n"
	  ":authority=a.test\n:path=/\n",
	    HEAD_FAULT_BODY, true },
};

static void
a_request_that_breaks_a_rule_is_refused_for_it(void **state)
{
	struct request request = { .method = "untouched" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad_requests) / sizeof(bad_requests[0]);
	     i++) {
		enum head_fault fault;

		gather(bad_requests[i].head);
		fault =
		    http2_request_read(&head, bad_requests[i].ended, &request);
		if (fault != bad_requests[i].fault)
			fail_msg("%s: %s", bad_requests[i].head,
			    head_fault_id(fault));
		assert_string_equal(request.method, "untouched");
	}
}

static const struct {
	const char *head;
	enum head_fault fault;
	bool ended;
} bad_responses[] = {
	{ "", HEAD_FAULT_PSEUDO, true },
	{ ":status=200\n:path=/\n", HEAD_FAULT_PSEUDO, true },
	{ ":status=200\n:status=200\n", HEAD_FAULT_PSEUDO, true },
	{ "a=b\n:status=200\n", HEAD_FAULT_PSEUDO, true },
	{ ":status=20\n", HEAD_FAULT_STATUS, true },
	{ ":status=+20\n", HEAD_FAULT_STATUS, true },
	{ ":status=2000\n", HEAD_FAULT_STATUS, true },
	{ ":status=099\n", HEAD_FAULT_STATUS, true },
	{ ":status=101\n", HEAD_FAULT_STATUS, false },
	{ ":status=100\n", HEAD_FAULT_BODY, true },
	{ ":status=204\ncontent-length=3\n", HEAD_FAULT_BODY, true },
	{ ":status=200\ncontent-length=3\n", HEAD_FAULT_LENGTH_DISAGREES,
	    true },
	{ ":status=200\nconnection=close\n", HEAD_FAULT_HOP_FIELD, true },
	{ ":status=200\nServer=x\n", HEAD_FAULT_FIELD_CASE, true },
};

static void
a_response_that_breaks_a_rule_is_refused_for_it(void **state)
{
	struct response response = { .status = 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad_responses) / sizeof(bad_responses[0]);
	     i++) {
		enum head_fault fault;

		gather(bad_responses[i].head);
		fault = http2_response_read(
		    &head, "GET", bad_responses[i].ended, &response);
		if (fault != bad_responses[i].fault)
			fail_msg("%s: %s", bad_responses[i].head,
			    head_fault_id(fault));
		assert_int_equal(response.status, 0);
	}
}

static void
a_request_is_read_into_its_parts(void **state)
{
	struct request request =
	    request_of(":method=POST\n:scheme=http\n:authority=A.test:81\n"
		       ":path=/p?q\nte=trailers\ncontent-length=4\n"
		       "expect=100-continue\nproxy-authorization=x\na=b\n",
		false);

	(void)state;
	assert_string_equal(request.method, "POST");
	assert_int_equal(request.scheme, REQUEST_HTTP);
	assert_int_equal(request.version, MESSAGE_HTTP_2);
	assert_string_equal(request.authority.name.text, "a.test");
	assert_int_equal(request.authority.port, 81);
	assert_true(cursor_equals(request.path, "/p"));
	assert_true(cursor_equals(request.query, "q"));
	assert_true(request.takes_trailers);
	assert_true(request.expects_continue);
	assert_int_equal(request.body.framing, MESSAGE_LENGTH);
	assert_int_equal(request.body.length, 4);
	assert_int_equal(request.header.count, 2);
	assert_true(cursor_equals(request.header.fields[0].name, "expect"));
	assert_true(cursor_equals(request.header.fields[1].value, "b"));
}

static void
a_body_of_unknown_length_is_told_from_none(void **state)
{
	(void)state;
	assert_int_equal(request_of(GET, true).body.framing, MESSAGE_NO_BODY);
	assert_int_equal(request_of(GET, false).body.framing, MESSAGE_CHUNKED);
	assert_int_equal(response_of(":status=200\n", "GET", true).body.framing,
	    MESSAGE_LENGTH);
	assert_int_equal(
	    response_of(":status=200\n", "GET", false).body.framing,
	    MESSAGE_CHUNKED);
	assert_int_equal(response_of(":status=204\n", "GET", true).body.framing,
	    MESSAGE_NO_BODY);
}

static void
the_length_of_what_was_not_sent_stays_a_field(void **state)
{
	struct response response =
	    response_of(":status=200\ncontent-length=5\n", "HEAD", true);

	(void)state;
	assert_int_equal(response.body.framing, MESSAGE_NO_BODY);
	assert_int_equal(response.header.count, 1);
	response = response_of(":status=304\ncontent-length=5\n", "GET", true);
	assert_int_equal(response.header.count, 1);
}

static void
crumbs_of_a_cookie_are_joined(void **state)
{
	struct request request =
	    request_of(GET "cookie=a=1\ncookie=b=2\nx=y\ncookie=c=3\n", true);

	(void)state;
	assert_int_equal(request.header.count, 2);
	assert_true(
	    cursor_equals(request.header.fields[0].value, "a=1; b=2; c=3"));
}

static void
an_empty_crumb_of_a_cookie_adds_nothing(void **state)
{
	struct request request = request_of(GET
	    "cookie=\ncookie=\nx=y\ncookie=a=1\ncookie=\ncookie=b=2\n"
	    "cookie=\n",
	    true);

	(void)state;
	assert_int_equal(request.header.count, 2);
	assert_true(cursor_equals(request.header.fields[0].value, "a=1; b=2"));
}

static void
an_extended_connect_is_judged_as_an_upgrade(void **state)
{
	struct request request = request_of(
	    ":method=CONNECT\n:protocol=websocket\n:scheme=https\n"
	    ":authority=a.test\n:path=/chat\nsec-websocket-version=13\n",
	    false);
	struct http2_list list;

	(void)state;
	assert_string_equal(request.method, "GET");
	assert_true(cursor_equals(request.upgrade, "websocket"));
	assert_int_equal(request.body.framing, MESSAGE_NO_BODY);
	http2_request_list(
	    &request, cursor_of_text("/chat"), REQUEST_HTTPS, &list);
	assert_true(cursor_equals(list.fields[0].value, "CONNECT"));
	assert_true(cursor_equals(list.fields[1].name, ":protocol"));
}

static void
what_is_too_much_is_told_as_such(void **state)
{
	static const char value[8192] = { 0 };
	static char text[sizeof(value)];
	struct request request;

	(void)state;
	memset(text, 'x', sizeof(text));
	gather(GET);
	for (int i = 0; i < 8; i++)
		http2_head_add(
		    &head, cursor_of_text("a"), cursor_of(text, sizeof(text)));
	assert_int_equal(
	    http2_request_read(&head, true, &request), HEAD_FAULT_HEAD_LONG);
	gather(GET);
	for (int i = 0; i <= LIMIT_HTTP_FIELDS; i++)
		http2_head_add(&head, cursor_of_text("a"), cursor_of_text("b"));
	assert_int_equal(
	    http2_request_read(&head, true, &request), HEAD_FAULT_FIELDS);
}

static void
a_request_is_listed_as_it_was_judged(void **state)
{
	struct request request = request_of(
	    ":method=PUT\n:scheme=https\n:authority=a.test\n:path=/%41?b\n"
	    "content-length=7\nte=trailers\n",
	    false);
	static const char *const wanted[][2] = { { ":method", "PUT" },
		{ ":scheme", "https" }, { ":authority", "a.test" },
		{ ":path", "/A?b" }, { "te", "trailers" },
		{ "content-length", "7" } };
	struct http2_list list;

	(void)state;
	http2_request_list(
	    &request, cursor_of_text("/A"), REQUEST_HTTPS, &list);
	assert_true(cursor_written(&list.out));
	assert_int_equal(list.count, 6);
	for (size_t i = 0; i < list.count; i++) {
		assert_true(cursor_equals(list.fields[i].name, wanted[i][0]));
		assert_true(cursor_equals(list.fields[i].value, wanted[i][1]));
	}
}

static void
trailers_that_may_not_be_any_are_dropped(void **state)
{
	struct header trailers;

	(void)state;
	gather("grpc-status=0\ncontent-length=3\nauthorization=x\n");
	assert_int_equal(
	    http2_trailers_read(&head, &trailers), HEAD_FAULT_NONE);
	assert_int_equal(trailers.count, 1);
	gather("grpc-status=0\n:path=/\n");
	assert_int_equal(
	    http2_trailers_read(&head, &trailers), HEAD_FAULT_PSEUDO);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_request_that_breaks_a_rule_is_refused_for_it),
		cmocka_unit_test(
		    a_response_that_breaks_a_rule_is_refused_for_it),
		cmocka_unit_test(a_request_is_read_into_its_parts),
		cmocka_unit_test(a_body_of_unknown_length_is_told_from_none),
		cmocka_unit_test(the_length_of_what_was_not_sent_stays_a_field),
		cmocka_unit_test(crumbs_of_a_cookie_are_joined),
		cmocka_unit_test(an_empty_crumb_of_a_cookie_adds_nothing),
		cmocka_unit_test(an_extended_connect_is_judged_as_an_upgrade),
		cmocka_unit_test(what_is_too_much_is_told_as_such),
		cmocka_unit_test(a_request_is_listed_as_it_was_judged),
		cmocka_unit_test(trailers_that_may_not_be_any_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
