/* Refusals as pages: what programs and agents read. */
#include "gateway/flow/refusal.h"

#include "gateway/proto/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

struct page {
	unsigned char bytes[REFUSAL_MAX];
	size_t length;
	struct response head;
	json_t *body;
};

static struct refusal
refusal_of(enum reason reason)
{
	return (struct refusal){ .reason = reason,
		.tried = "GET https://a.test/x",
		.cause = "",
		.event = "00112233445566778899aabbccddeeff" };
}

/* Writes it and reads it back as a client would. */
static void
read_back(const struct refusal *refusal, const char *method, bool keep_alive,
    struct page *ret)
{
	struct cursor_writer out =
	    cursor_writer_of(ret->bytes, sizeof(ret->bytes));
	enum head_fault fault;
	json_error_t error;

	refusal_write_http1(
	    refusal, strcmp(method, "HEAD") == 0, keep_alive, &out);
	assert_true(cursor_written(&out));
	ret->length = out.used;
	assert_int_equal(http1_response_parse(cursor_of(out.bytes, out.used),
			     method, &ret->head, &fault),
	    PARSE_OK);
	ret->body = json_loadb((const char *)out.bytes + ret->head.length,
	    out.used - ret->head.length, JSON_REJECT_DUPLICATES, &error);
}

static const char *
member(const struct page *page, const char *name)
{
	const char *text = json_string_value(json_object_get(page->body, name));

	return text == NULL ? "" : text;
}

static void
every_reason_is_a_whole_response_with_its_status(void **state)
{
	size_t count;
	const struct reason_entry *list = reason_entries(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct refusal refusal = refusal_of(list[i].reason);
		struct page page;

		read_back(&refusal, "GET", true, &page);
		assert_int_equal(page.head.status, list[i].http_status);
		assert_true(page.head.keep_alive);
		assert_int_equal(page.head.body.framing, MESSAGE_LENGTH);
		assert_int_equal(
		    page.head.body.length, page.length - page.head.length);
		assert_non_null(page.body);
		assert_string_equal(member(&page, "reason"), list[i].id);
		assert_string_equal(member(&page, "title"), list[i].title);
		assert_int_equal(
		    json_integer_value(json_object_get(page.body, "status")),
		    list[i].http_status);
		json_decref(page.body);
	}
}

static void
policy_is_told_from_a_fault_of_the_network_A05(void **state)
{
	struct refusal refusal = refusal_of(REASON_NO_RULE);
	struct page page;

	(void)state;
	read_back(&refusal, "GET", true, &page);
	assert_non_null(
	    strstr(member(&page, "detail"), "GET https://a.test/x was refused "
					    "by the policy of this sandbox"));
	assert_non_null(strstr(member(&page, "detail"), "not a network fault"));
	assert_non_null(strstr(
	    member(&page, "detail"), "Trying again or another way will not"));
	assert_true(json_is_null(json_object_get(page.body, "rule")));
	assert_string_equal(
	    member(&page, "event"), "00112233445566778899aabbccddeeff");
	json_decref(page.body);
	refusal.reason = REASON_UPSTREAM_REFUSED;
	read_back(&refusal, "GET", true, &page);
	assert_non_null(strstr(member(&page, "detail"), "was allowed, but"));
	json_decref(page.body);
}

static void
operators_words_replace_the_usual_advice(void **state)
{
	struct refusal refusal = refusal_of(REASON_DENIED);
	struct page page;

	(void)state;
	refusal.rule = "no-gists";
	refusal.advice = "Attach \"files\"\n to the issue.";
	read_back(&refusal, "GET", false, &page);
	assert_string_equal(member(&page, "rule"), "no-gists");
	assert_non_null(strstr(
	    member(&page, "detail"), "Attach \"files\"\n to the issue."));
	assert_false(page.head.keep_alive);
	json_decref(page.body);
}

static void
status_of_its_own_stands_in_head_and_body(void **state)
{
	struct refusal refusal = refusal_of(REASON_MALFORMED);
	struct page page;

	(void)state;
	refusal.status = 431;
	read_back(&refusal, "GET", false, &page);
	assert_int_equal(page.head.status, 431);
	assert_int_equal(
	    json_integer_value(json_object_get(page.body, "status")), 431);
	assert_string_equal(member(&page, "reason"), "malformed");
	json_decref(page.body);
}

static void
answer_to_head_has_the_fields_and_no_body(void **state)
{
	struct refusal refusal = refusal_of(REASON_NO_RULE);
	struct page page;

	(void)state;
	read_back(&refusal, "HEAD", true, &page);
	assert_int_equal(page.length, page.head.length);
	assert_null(page.body);
}

static void
longest_words_still_make_a_whole_page(void **state)
{
	char tried[4096], cause[2048];
	struct refusal refusal = refusal_of(REASON_UPSTREAM_TLS);
	struct page page;

	(void)state;
	/* A control character takes six bytes in JSON. */
	memset(tried, '\1', sizeof(tried) - 1);
	tried[sizeof(tried) - 1] = '\0';
	memset(cause, '"', sizeof(cause) - 1);
	cause[sizeof(cause) - 1] = '\0';
	refusal.tried = tried;
	refusal.cause = cause;
	read_back(&refusal, "GET", true, &page);
	assert_int_equal(page.head.status, 502);
	assert_int_equal(page.head.body.length, page.length - page.head.length);
	json_decref(page.body);
}

static void
page_that_does_not_fit_says_so(void **state)
{
	unsigned char bytes[64];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct refusal refusal = refusal_of(REASON_NO_RULE);

	(void)state;
	refusal_write_http1(&refusal, false, true, &out);
	assert_false(cursor_written(&out));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    every_reason_is_a_whole_response_with_its_status),
		cmocka_unit_test(
		    policy_is_told_from_a_fault_of_the_network_A05),
		cmocka_unit_test(operators_words_replace_the_usual_advice),
		cmocka_unit_test(status_of_its_own_stands_in_head_and_body),
		cmocka_unit_test(answer_to_head_has_the_fields_and_no_body),
		cmocka_unit_test(longest_words_still_make_a_whole_page),
		cmocka_unit_test(page_that_does_not_fit_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
