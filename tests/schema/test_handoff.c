#include "schema/handoff.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char bytes[64];

static size_t
make_offer(void)
{
	struct handoff_offer offer = { .mode = HANDOFF_ANYIP,
		.own4 = address_v4((const uint8_t[]){ 198, 18, 0, 1 }),
		.own6 = address_v6((const uint8_t[16]){ 0xfd, 0x65 }) };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	memset(bytes, 0, sizeof(bytes));
	handoff_offer_write(&offer, &out);
	assert_true(cursor_written(&out));
	return out.used;
}

static void
an_offer_is_read_as_it_was_written(void **state)
{
	size_t length = make_offer();
	struct handoff_offer offer;

	(void)state;
	assert_int_equal(
	    handoff_offer_read(cursor_of(bytes, length), &offer), STATUS_OK);
	assert_int_equal(offer.mode, HANDOFF_ANYIP);
	assert_int_equal(offer.own4.length, 4);
	assert_memory_equal(offer.own4.bytes, "\xc6\x12\0\1", 4);
	assert_int_equal(offer.own6.length, 16);
	assert_memory_equal(offer.own6.bytes, "\xfd\x65", 2);
}

static void
an_offer_cut_off_or_with_bytes_behind_is_refused(void **state)
{
	size_t length = make_offer();
	struct handoff_offer offer = { .mode = HANDOFF_TPROXY };

	(void)state;
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(
		    handoff_offer_read(cursor_of(bytes, cut), &offer),
		    STATUS_MALFORMED);
	assert_int_equal(
	    handoff_offer_read(cursor_of(bytes, length + 1), &offer),
	    STATUS_MALFORMED);
	assert_int_equal(offer.mode, HANDOFF_TPROXY);
}

static void
an_unknown_mode_or_a_wrong_family_is_refused(void **state)
{
	size_t length = make_offer();
	struct handoff_offer offer;

	(void)state;
	bytes[0] = HANDOFF_MODE_COUNT;
	assert_int_equal(handoff_offer_read(cursor_of(bytes, length), &offer),
	    STATUS_MALFORMED);
	bytes[0] = HANDOFF_TPROXY;
	bytes[1] = 16;
	assert_int_equal(handoff_offer_read(cursor_of(bytes, length), &offer),
	    STATUS_MALFORMED);
}

static void
every_mode_has_a_name(void **state)
{
	(void)state;
	assert_string_equal(handoff_mode_name(HANDOFF_TPROXY), "tproxy");
	assert_string_equal(handoff_mode_name(HANDOFF_ANYIP), "anyip");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offer_is_read_as_it_was_written),
		cmocka_unit_test(
		    an_offer_cut_off_or_with_bytes_behind_is_refused),
		cmocka_unit_test(an_unknown_mode_or_a_wrong_family_is_refused),
		cmocka_unit_test(every_mode_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
