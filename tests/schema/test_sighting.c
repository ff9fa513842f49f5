#include "schema/sighting.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
question_is_read_as_it_was_written(void **state)
{
	struct sighting_question question = { .number = 5,
		.transport = SIGHTING_UDP,
		.from = { address_v4((const uint8_t[]){ 127, 0, 0, 1 }), 80 },
		.to = { address_v6((const uint8_t[16]){ 0xfd }), 443 },
		.digest = true },
				 got;
	unsigned char bytes[128];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	sighting_question_write(&question, &out);
	assert_int_equal(
	    sighting_question_read(cursor_of(bytes, out.used), &got),
	    STATUS_OK);
	assert_int_equal(got.number, 5);
	assert_int_equal(got.transport, SIGHTING_UDP);
	assert_true(endpoint_equals(&got.from, &question.from));
	assert_true(endpoint_equals(&got.to, &question.to));
	assert_true(got.digest);
	for (size_t i = 0; i < out.used; i++)
		assert_int_equal(
		    sighting_question_read(cursor_of(bytes, i), &got),
		    STATUS_MALFORMED);
}

static void
sighting_is_read_as_it_was_written(void **state)
{
	struct sighting sighting = { .number = 9,
		.pid = 1234,
		.exe = "/usr/bin/curl",
		.argv = "curl x",
		.has_digest = true,
		.digest = { 1, 2, 3 } },
			got;
	unsigned char bytes[128];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	sighting_write(&sighting, &out);
	assert_int_equal(
	    sighting_read(cursor_of(bytes, out.used), &got), STATUS_OK);
	assert_int_equal(got.pid, 1234);
	assert_string_equal(got.exe, "/usr/bin/curl");
	assert_string_equal(got.argv, "curl x");
	assert_memory_equal(got.digest, sighting.digest, SIGHTING_DIGEST);
	for (size_t i = 0; i < out.used; i++)
		assert_int_equal(
		    sighting_read(cursor_of(bytes, i), &got), STATUS_MALFORMED);
}

static void
digest_of_another_length_is_refused(void **state)
{
	static const unsigned char bytes[] = { 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
		2, 0, 0, 0, 0, 0, 1, 9 };
	struct sighting got;

	(void)state;
	assert_int_equal(sighting_read(cursor_of(bytes, sizeof(bytes)), &got),
	    STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(question_is_read_as_it_was_written),
		cmocka_unit_test(sighting_is_read_as_it_was_written),
		cmocka_unit_test(digest_of_another_length_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
