#include "schema/base64url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool
read_text(const char *text, unsigned char *out, size_t size, size_t *ret)
{
	struct cursor_writer w = cursor_writer_of(out, size);
	bool well = base64url_read(cursor_of_text(text), &w);

	*ret = w.used;
	return well;
}

static void
the_vectors_of_rfc_4648_come_out_without_padding(void **state)
{
	static const char *const pairs[][2] = { { "", "" }, { "f", "Zg" },
		{ "fo", "Zm8" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg" },
		{ "fooba", "Zm9vYmE" }, { "foobar", "Zm9vYmFy" },
		{ "\xfb\xff", "-_8" } };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		unsigned char bytes[16];
		struct cursor_writer out =
		    cursor_writer_of(bytes, sizeof(bytes));
		size_t length;

		base64url_write(cursor_of_text(pairs[i][0]), &out);
		assert_int_equal(
		    out.used, BASE64URL_LENGTH(strlen(pairs[i][0])));
		assert_true(
		    cursor_equals(cursor_of(bytes, out.used), pairs[i][1]));
		assert_true(
		    read_text(pairs[i][1], bytes, sizeof(bytes), &length));
		assert_int_equal(length, strlen(pairs[i][0]));
		assert_memory_equal(bytes, pairs[i][0], length);
	}
}

static void
every_other_spelling_is_refused(void **state)
{
	static const char *const texts[] = { "Z", "Zm9vY", "Zg==", "Zg=", "Zh",
		"Zm9", "Z g", "Zg\n", "Zm+v", "Zm/v", "Zm9v.", "\xc3\xa4" };
	unsigned char bytes[16];
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(
		    read_text(texts[i], bytes, sizeof(bytes), &length));
}

static void
what_does_not_fit_is_refused(void **state)
{
	unsigned char bytes[3];
	size_t length;

	(void)state;
	assert_true(read_text("Zm9v", bytes, 3, &length));
	assert_false(read_text("Zm9vYg", bytes, 3, &length));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    the_vectors_of_rfc_4648_come_out_without_padding),
		cmocka_unit_test(every_other_spelling_is_refused),
		cmocka_unit_test(what_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
