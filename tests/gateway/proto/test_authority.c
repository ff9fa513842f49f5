#include "gateway/proto/authority.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
assert_spelling(const char *text, const char *canonical)
{
	struct authority authority;
	char bytes[300];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	if (authority_parse(cursor_of_text(text), &authority) != STATUS_OK)
		fail_msg("%s is refused", text);
	assert_true(authority_is_set(&authority));
	authority_write(&authority, &out);
	if (!cursor_equals(cursor_of(bytes, out.used), canonical))
		fail_msg("%s became %.*s", text, (int)out.used, bytes);
}

/* B07, B11, B18. */
static void
every_host_has_one_spelling(void **state)
{
	(void)state;
	assert_spelling("a.test", "a.test");
	assert_spelling("API.Test.", "api.test");
	assert_spelling("a.test:65535", "a.test:65535");
	assert_spelling("192.0.2.1:1", "192.0.2.1:1");
	assert_spelling("[::1]", "[::1]");
	assert_spelling("[0:0:0:0:0:0:0:1]:80", "[::1]:80");
	assert_spelling("[2001:DB8::A]", "[2001:db8::a]");
	assert_spelling("[::ffff:127.0.0.1]:80", "127.0.0.1:80");
	/* B09: an address like any other here; net/dial refuses it. */
	assert_spelling("0.0.0.0", "0.0.0.0");
	assert_spelling("[::]", "[::]");
}

/* B11: each of these has fooled some checker. */
static void
what_is_odd_is_refused(void **state)
{
	static const char *const odd[] = { "", ":", ":80",
		"a.test:", "a.test:80:80", "a.test:0", "a.test:00",
		"a.test:080", "a.test:65536", "a.test:99999999999999999999",
		"a.test:+1", "a.test:1 ", " a.test", "a.test ", "a@b.test",
		"a:b@c.test", "a.test/", "a.test?", "a.test#", "a.test\\",
		"a%2etest", "a..test", ".a.test", "a.test..", "-a.test",
		"a-.test", "*.test", "a,b", "127.1", "0x7f.0.0.1", "0177.0.0.1",
		"2130706433", "127.0.0.1.", "127.0.0.01", "1.2.3.4.5", "::1",
		"fe80::1%lo", "[", "[]", "[]:80", "[::1", "[::1]]",
		"[::1]:", "[::1]80", "[::1%25lo]", "[::1%lo]", "[127.0.0.1]",
		"[a.test]", "[::1]:80:80", "[[::1]]", "[:::1]", "[1::2::3]",
		"[12345::]", "b\303\274cher.test" };
	struct authority authority = { .port = 77 };

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (authority_parse(cursor_of_text(odd[i]), &authority) ==
		    STATUS_OK)
			fail_msg("%s is taken", odd[i]);
	assert_int_equal(authority_parse(cursor_of("a.test\0b", 8), &authority),
	    STATUS_MALFORMED);
	assert_int_equal(authority.port, 77);
	assert_false(authority_is_set(&authority));
}

static void
no_port_is_the_default_port(void **state)
{
	struct authority none, port, other, literal;

	(void)state;
	assert_int_equal(
	    authority_parse(cursor_of_text("a.test"), &none), STATUS_OK);
	assert_int_equal(
	    authority_parse(cursor_of_text("A.test:443"), &port), STATUS_OK);
	assert_int_equal(
	    authority_parse(cursor_of_text("b.test:443"), &other), STATUS_OK);
	assert_int_equal(
	    authority_parse(cursor_of_text("192.0.2.1"), &literal), STATUS_OK);
	assert_true(authority_equals(&none, &port, 443));
	assert_false(authority_equals(&none, &port, 80));
	assert_false(authority_equals(&port, &other, 443));
	assert_false(authority_equals(&none, &literal, 80));
	assert_true(authority_equals(&literal, &literal, 80));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_host_has_one_spelling),
		cmocka_unit_test(what_is_odd_is_refused),
		cmocka_unit_test(no_port_is_the_default_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
