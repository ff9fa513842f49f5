#include "gateway/flow/inject.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct inject_room room;

static struct request
request_with(const char *name, const char *value)
{
	struct request request = { .method = "GET" };

	assert_int_equal(header_add(&request.header, cursor_of_text(name),
			     cursor_of_text(value)),
	    STATUS_OK);
	assert_int_equal(header_add(&request.header, cursor_of_text("accept"),
			     cursor_of_text("*/*")),
	    STATUS_OK);
	return request;
}

static struct grant
grant_of(enum grant_place place, const char *name, const char *value)
{
	struct grant grant = { .count = 0 };

	assert_int_equal(
	    grant_add(&grant, place, name, secret_new(cursor_of_text(value))),
	    STATUS_OK);
	return grant;
}

static void
assert_field(const struct request *request, const char *name, const char *value)
{
	struct cursor found;

	assert_int_equal(header_count(&request->header, name), 1);
	assert_true(header_find(&request->header, name, &found));
	assert_true(cursor_equals(found, value));
}

static void
what_the_sandbox_sent_goes_and_ours_stands(void **state)
{
	static const char *const carriers[] = { "Authorization",
		"AUTHORIZATION", "x-api-key", "X-Goog-Api-Key", "PRIVATE-TOKEN",
		"Api-Key", "x-custom" };

	(void)state;
	for (size_t i = 0; i < sizeof(carriers) / sizeof(carriers[0]); i++) {
		struct request head = request_with(carriers[i], "mine"), out;
		struct grant grant = grant_of(GRANT_HEADER, "X-Custom", "ours");

		assert_int_equal(
		    inject_request(&head, &grant, &room, &out), STATUS_OK);
		assert_field(&out, "x-custom", "ours");
		assert_field(&out, "accept", "*/*");
		assert_int_equal(out.header.count, 2);
		/* What was judged stays as it was. */
		assert_field(&head, carriers[i], "mine");
		grant_done(&grant);
	}
}

static void
a_key_of_the_query_is_set_once(void **state)
{
	static const struct {
		const char *before, *after;
	} queries[] = {
		{ "", "key=o%2Fu%3Dr%26s" },
		{ "a=1", "a=1&key=o%2Fu%3Dr%26s" },
		{ "key=mine", "key=o%2Fu%3Dr%26s" },
		{ "key", "key=o%2Fu%3Dr%26s" },
		{ "a=1&key=mine&key=more&b=2", "a=1&b=2&key=o%2Fu%3Dr%26s" },
		{ "%6bey=mine&k%65y=x", "key=o%2Fu%3Dr%26s" },
		{ "Key=other&keys=1&akey=2",
		    "Key=other&keys=1&akey=2&key=o%2Fu%3Dr%26s" },
		{ "a=key&%zz=1", "a=key&%zz=1&key=o%2Fu%3Dr%26s" },
	};
	struct grant grant = grant_of(GRANT_QUERY, "key", "o/u=r&s");

	(void)state;
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		struct request head = request_with("x", "y"), out;

		head.query = cursor_of_text(queries[i].before);
		assert_int_equal(
		    inject_request(&head, &grant, &room, &out), STATUS_OK);
		assert_true(out.has_query);
		assert_true(cursor_equals(out.query, queries[i].after));
	}
	grant_done(&grant);
}

static void
a_key_to_sign_with_is_never_sent(void **state)
{
	struct request head = request_with("x", "y"), out;
	struct grant grant = grant_of(GRANT_SIGNING, "key", "secret");

	(void)state;
	assert_int_equal(
	    inject_request(&head, &grant, &room, &out), STATUS_REFUSED);
	grant_done(&grant);
}

/* The connection shows it, and no field may. */
static void
a_certificate_stands_in_no_field(void **state)
{
	struct request head = request_with("authorization", "mine"), out;
	struct grant grant =
	    grant_of(GRANT_CERTIFICATE, "certificate", "line\nline\n");

	(void)state;
	assert_int_equal(inject_request(&head, &grant, &room, &out), STATUS_OK);
	assert_int_equal(header_count(&out.header, "authorization"), 0);
	assert_int_equal(out.header.count, 1);
	assert_false(out.has_query);
	grant_done(&grant);
}

static void
what_has_no_room_is_refused(void **state)
{
	char *long_query = malloc(LIMIT_HTTP_URI + 1);
	struct request head = request_with("x", "y"), out;
	struct grant grant = grant_of(GRANT_QUERY, "key", "ours");

	(void)state;
	memset(long_query, 'a', LIMIT_HTTP_URI);
	head.query = cursor_of(long_query, LIMIT_HTTP_URI - 4);
	assert_int_equal(
	    inject_request(&head, &grant, &room, &out), STATUS_TOO_LONG);
	grant_done(&grant);
	free(long_query);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_sandbox_sent_goes_and_ours_stands),
		cmocka_unit_test(a_key_of_the_query_is_set_once),
		cmocka_unit_test(a_key_to_sign_with_is_never_sent),
		cmocka_unit_test(a_certificate_stands_in_no_field),
		cmocka_unit_test(what_has_no_room_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
