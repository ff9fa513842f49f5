#include "gateway/proto/socks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
greeting_says_whether_no_password_is_fine(void **state)
{
	static const unsigned char both[] = { 5, 2, 2, 0, 9 };
	static const unsigned char password[] = { 5, 1, 2 };
	struct cursor bytes = cursor_of(both, sizeof(both));
	bool anonymous;

	(void)state;
	assert_int_equal(socks_greeting_take(&bytes, &anonymous), PARSE_OK);
	assert_true(anonymous);
	assert_int_equal(bytes.left, 1);
	bytes = cursor_of(password, sizeof(password));
	assert_int_equal(socks_greeting_take(&bytes, &anonymous), PARSE_OK);
	assert_false(anonymous);
	for (size_t i = 0; i < 4; i++) {
		bytes = cursor_of(both, i);
		assert_int_equal(
		    socks_greeting_take(&bytes, &anonymous), PARSE_MORE);
		assert_int_equal(bytes.left, i);
	}
}

static void
greeting_of_another_version_or_without_a_way_is_none(void **state)
{
	static const unsigned char four[] = { 4, 1, 0 }, none[] = { 5, 0 };
	struct cursor bytes = cursor_of(four, sizeof(four));
	bool anonymous;

	(void)state;
	assert_int_equal(socks_greeting_take(&bytes, &anonymous), PARSE_BAD);
	bytes = cursor_of(none, sizeof(none));
	assert_int_equal(socks_greeting_take(&bytes, &anonymous), PARSE_BAD);
}

/* Reads one request, also cut at every byte. */
static enum socks_reply
request(const void *text, size_t length, struct authority *ret)
{
	struct cursor bytes;
	enum socks_reply reply;

	for (size_t i = 0; i < length; i++) {
		bytes = cursor_of(text, i);
		assert_int_equal(
		    socks_request_take(&bytes, ret, &reply), PARSE_MORE);
	}
	bytes = cursor_of(text, length);
	assert_int_equal(socks_request_take(&bytes, ret, &reply), PARSE_OK);
	assert_int_equal(bytes.left, 0);
	return reply;
}

static void
names_and_addresses_are_taken(void **state)
{
	struct authority authority;

	(void)state;
	assert_int_equal(
	    request("\5\1\0\3\6A.Test\1\273", 13, &authority), SOCKS_SUCCEEDED);
	assert_string_equal(authority.name.text, "a.test");
	assert_int_equal(authority.port, 443);
	assert_int_equal(request("\5\1\0\1\12\0\0\1\0\120", 10, &authority),
	    SOCKS_SUCCEEDED);
	assert_int_equal(authority.literal.length, 4);
	assert_int_equal(authority.port, 80);
	assert_int_equal(
	    request("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120", 22,
		&authority),
	    SOCKS_SUCCEEDED);
	assert_int_equal(authority.literal.length, 16);
	/* B11: an address in the place of a name is an address. */
	assert_int_equal(request("\5\1\0\3\0111.2.3.4.5\0\120", 16, &authority),
	    SOCKS_NO_ADDRESS);
	assert_int_equal(request("\5\1\0\3\0071.2.3.4\0\120", 14, &authority),
	    SOCKS_SUCCEEDED);
	assert_int_equal(authority.literal.length, 4);
}

static void
what_is_not_a_name_or_not_a_connection_is_told(void **state)
{
	struct authority authority;

	(void)state;
	assert_int_equal(
	    request("\5\1\0\3\3a\0b\0\120", 10, &authority), SOCKS_NO_ADDRESS);
	assert_int_equal(
	    request("\5\1\0\3\0\0\120", 7, &authority), SOCKS_NO_ADDRESS);
	assert_int_equal(
	    request("\5\1\0\3\6a.test\0\0", 13, &authority), SOCKS_NO_ADDRESS);
	assert_int_equal(request("\5\2\0\1\12\0\0\1\0\120", 10, &authority),
	    SOCKS_NO_COMMAND);
	assert_int_equal(request("\5\3\0\1\12\0\0\1\0\120", 10, &authority),
	    SOCKS_NO_COMMAND);
	assert_false(authority_is_set(&authority));
}

static void
what_is_no_request_is_bad(void **state)
{
	static const char *const texts[] = { "\4\1\0\1", "\5\1\1\1",
		"\5\1\0\2" };
	struct authority authority;
	enum socks_reply reply;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct cursor bytes = cursor_of(texts[i], 4);

		assert_int_equal(
		    socks_request_take(&bytes, &authority, &reply), PARSE_BAD);
	}
}

static void
answers_have_their_form(void **state)
{
	unsigned char room[16];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	(void)state;
	socks_greeting_answer(true, &out);
	socks_greeting_answer(false, &out);
	socks_reply_write(SOCKS_NOT_ALLOWED, &out);
	assert_int_equal(out.used, 14);
	assert_memory_equal(room, "\5\0\5\377\5\2\0\1\0\0\0\0\0\0", 14);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greeting_says_whether_no_password_is_fine),
		cmocka_unit_test(
		    greeting_of_another_version_or_without_a_way_is_none),
		cmocka_unit_test(names_and_addresses_are_taken),
		cmocka_unit_test(
		    what_is_not_a_name_or_not_a_connection_is_told),
		cmocka_unit_test(what_is_no_request_is_bad),
		cmocka_unit_test(answers_have_their_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
