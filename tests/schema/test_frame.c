#include "schema/frame.h"

#include "schema/handoff.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static unsigned char packet[LIMIT_FRAME + 1];

static void
a_frame_is_its_type_and_its_body(void **state)
{
	struct cursor_writer out =
	    frame_begin(FRAME_ORDER_STOP, packet, sizeof(packet));
	struct frame frame;

	(void)state;
	cursor_put_text(&out, "body");
	assert_int_equal(frame_parse(packet, out.used, &frame), STATUS_OK);
	assert_int_equal(frame.type, FRAME_ORDER_STOP);
	assert_true(cursor_equals(frame.body, "body"));
}

static void
a_packet_without_a_type_or_too_long_is_refused(void **state)
{
	struct frame frame = { .type = 77 };

	(void)state;
	assert_int_equal(frame_parse(packet, 0, &frame), STATUS_MALFORMED);
	assert_int_equal(frame_parse(packet, 1, &frame), STATUS_MALFORMED);
	assert_int_equal(
	    frame_parse(packet, LIMIT_FRAME + 1, &frame), STATUS_TOO_LONG);
	assert_int_equal(frame.type, 77);
	assert_int_equal(frame_parse(packet, LIMIT_FRAME, &frame), STATUS_OK);
	assert_int_equal(frame.body.left, LIMIT_FRAME - 2);
}

static void
a_frame_without_room_for_its_type_says_so(void **state)
{
	struct cursor_writer out = frame_begin(FRAME_ORDER_STOP, packet, 1);

	(void)state;
	assert_false(cursor_written(&out));
}

static void
only_known_types_have_descriptors(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned type = 0; type <= UINT16_MAX; type++) {
		int count = frame_descriptors((uint16_t)type);

		assert_in_range(count + 1, 0, LIMIT_FRAME_FDS + 1);
		known += count >= 0 ? 1 : 0;
	}
	assert_in_range(known, 16, 200);
	assert_int_equal(
	    frame_descriptors(FRAME_HANDOFF_OFFER), HANDOFF_FD_COUNT);
	assert_int_equal(frame_descriptors(FRAME_ORDER_LAYER), 1);
	assert_int_equal(frame_descriptors(FRAME_ORDER_STOP), 0);
	assert_int_equal(frame_descriptors(0), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_its_type_and_its_body),
		cmocka_unit_test(
		    a_packet_without_a_type_or_too_long_is_refused),
		cmocka_unit_test(a_frame_without_room_for_its_type_says_so),
		cmocka_unit_test(only_known_types_have_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
