#include "schema/event.h"

#include "schema/status.h"
#include "tests/schema/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char bytes[LIMIT_FRAME];

static struct event
full_event(void)
{
	struct event event = event_empty();

	event.number = 7;
	event.wait = EVENT_WAIT_COMMIT;
	event.kind = EVENT_HTTP_INTENT;
	event.verdict = EVENT_ALLOW;
	event.reason = REASON_NO_RULE;
	event.ts_us = 1700000000000000;
	event.flow_id = 0;
	event.parent_seq = INT64_MAX;
	event.req_id = cursor_of("0123456789abcdef", EVENT_REQ_ID);
	event.host = cursor_of_text("a.test");
	event.dst_ip = address_v4((const uint8_t[]){ 192, 0, 2, 1 });
	event.dst_port = 443;
	event.l7 = EVENT_L7_HTTP1;
	event.tls = -0x0304;
	event.verb = cursor_of_text("GET");
	event.object = cursor_of_text("/p");
	event.status = 200;
	event.rule = cursor_of_text("r1");
	event.policy = cursor_of("0123456789abcdef0123456789abcdef", 32);
	event.cred = cursor_of_text("c");
	event.bytes_out = 0;
	event.bytes_in = INT64_MAX;
	event.dur_us = 1;
	event.detail = cursor_of_text("{\"a\":\"}\\\"{\"}");
	return event;
}

static bool
same_text(struct cursor a, struct cursor b)
{
	return a.left == b.left &&
	       (a.left == 0 || memcmp(a.at, b.at, a.left) == 0);
}

static void
assert_same(const struct event *a, const struct event *b)
{
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->wait, b->wait);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->ts_us, b->ts_us);
	assert_int_equal(a->flow_id, b->flow_id);
	assert_int_equal(a->parent_seq, b->parent_seq);
	assert_true(same_text(a->req_id, b->req_id));
	assert_true(same_text(a->host, b->host));
	assert_true(address_equals(&a->dst_ip, &b->dst_ip));
	assert_int_equal(a->dst_port, b->dst_port);
	assert_int_equal(a->l7, b->l7);
	assert_int_equal(a->tls, b->tls);
	assert_true(same_text(a->verb, b->verb));
	assert_true(same_text(a->object, b->object));
	assert_int_equal(a->status, b->status);
	assert_true(same_text(a->rule, b->rule));
	assert_true(same_text(a->policy, b->policy));
	assert_true(same_text(a->cred, b->cred));
	assert_int_equal(a->bytes_out, b->bytes_out);
	assert_int_equal(a->bytes_in, b->bytes_in);
	assert_int_equal(a->dur_us, b->dur_us);
	assert_true(same_text(a->detail, b->detail));
}

static size_t
written(const struct event *event)
{
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	event_write(event, &out);
	assert_true(cursor_written(&out));
	return out.used;
}

static int
read_back(const struct event *event)
{
	struct cursor body = cursor_of(bytes, written(event));
	struct event ignored;

	return event_read(&body, &ignored);
}

static void
an_event_is_read_as_it_was_written(void **state)
{
	struct event full = full_event(), empty = event_empty(), read;
	struct cursor body;

	(void)state;
	body = cursor_of(bytes, written(&full));
	assert_int_equal(event_read(&body, &read), STATUS_OK);
	assert_true(cursor_is_empty(&body));
	assert_same(&full, &read);
	empty.number = 1;
	empty.kind = EVENT_AUDIT;
	body = cursor_of(bytes, written(&empty));
	assert_int_equal(event_read(&body, &read), STATUS_OK);
	assert_same(&empty, &read);
}

static void
a_block_cut_off_is_refused_and_stays(void **state)
{
	struct event full = full_event(), read = { .number = 77 };
	size_t length = written(&full);

	(void)state;
	for (size_t cut = 0; cut < length; cut++) {
		struct cursor body = cursor_of(bytes, cut);

		assert_int_equal(event_read(&body, &read), STATUS_MALFORMED);
		assert_int_equal(body.left, cut);
	}
	assert_int_equal(read.number, 77);
}

/* Only the blocks of an honest producer are rows: no bit may be moved. */
static void
changed_bytes_are_refused_or_read_as_sound(void **state)
{
	struct dice dice = { .state = 5 };
	struct event full = full_event(), read;
	size_t length = written(&full), refused = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		struct cursor body = cursor_of(bytes, length);
		size_t place = dice_throw(&dice, length);
		unsigned char kept = bytes[place];

		bytes[place] = (unsigned char)dice_throw(&dice, 256);
		if (event_read(&body, &read) != STATUS_OK)
			refused++;
		else {
			assert_non_null(event_kind_name(read.kind));
			assert_true(read.verdict < EVENT_VERDICT_COUNT);
			assert_true(reason_is_known(read.reason));
			assert_in_range(read.dst_port + 1, 0, 65536);
			assert_true(read.host.left <= LIMIT_HOST);
		}
		bytes[place] = kept;
	}
	assert_in_range(refused, 1000, 99999);
}

static void
what_no_producer_means_is_refused(void **state)
{
	struct event event = full_event();

	(void)state;
	event.number = 0;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.ts_us = -1;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.kind = (enum event_kind)11;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.verdict = EVENT_VERDICT_COUNT;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.wait = EVENT_WAIT_COUNT;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.reason = (enum reason)9;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.dst_port = 65536;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.parent_seq = -2;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.req_id.left = 15;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.policy.left = 31;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
}

static void
a_detail_is_one_json_object(void **state)
{
	static const char *const bad[] = { "x", "[]", "{", "}", "{}}", "{}{}",
		"{} ", " {}", "{\"a\":\"}", "{\"a\":\"\\\"}", "{\"\n\":1}" };
	static const char *const good[] = { "{}", "{\"a\":{\"b\":{}}}",
		"{\"a\":\"}{\"}", "{\"a\\\"\":1}", "{\"\\\\\":1}" };
	struct event event = full_event();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		event.detail = cursor_of_text(bad[i]);
		if (read_back(&event) == STATUS_OK)
			fail_msg("%s is taken", bad[i]);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		event.detail = cursor_of_text(good[i]);
		if (read_back(&event) != STATUS_OK)
			fail_msg("%s is refused", good[i]);
	}
}

static void
texts_are_held_to_their_limits(void **state)
{
	static char text[LIMIT_EVENT_DETAIL + 2];
	struct event event = full_event();

	(void)state;
	memset(text, 'a', sizeof(text));
	event.object = cursor_of(text, LIMIT_EVENT_OBJECT);
	event.verb = cursor_of(text, LIMIT_EVENT_VERB);
	assert_int_equal(read_back(&event), STATUS_OK);
	event.object.left++;
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.verb = cursor_of(text, LIMIT_EVENT_VERB + 1);
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
	event = full_event();
	event.host = cursor_of(text, LIMIT_HOST + 1);
	assert_int_equal(read_back(&event), STATUS_MALFORMED);
}

static void
fields_come_once_and_in_order(void **state)
{
	struct event event = event_empty(), read;
	struct cursor body;
	size_t length;

	(void)state;
	event.number = 1;
	event.kind = EVENT_DNS;
	event.flow_id = 5;
	length = written(&event);
	/* The same field once more, or one that nobody has. */
	memcpy(bytes + length, bytes + length - 9, 9);
	bytes[1] = (unsigned char)(bytes[1] + 9);
	body = cursor_of(bytes, length + 9);
	assert_int_equal(event_read(&body, &read), STATUS_MALFORMED);
	bytes[length] = 200;
	body = cursor_of(bytes, length + 9);
	assert_int_equal(event_read(&body, &read), STATUS_MALFORMED);
}

static void
names_cover_every_number(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENT_VERDICT_COUNT; i++)
		assert_non_null(event_verdict_name(i));
	for (unsigned i = 0; i < EVENT_L7_COUNT; i++)
		assert_non_null(event_l7_name(i));
	assert_string_equal(event_kind_name(EVENT_HTTP), "http");
	assert_null(event_kind_name(0));
	assert_null(event_kind_name(EVENT_KIND_END));
	assert_null(event_verdict_name(EVENT_VERDICT_COUNT));
	assert_null(event_l7_name(EVENT_L7_COUNT));
}

static void
the_rest_of_the_channel_is_read_as_written(void **state)
{
	struct event_run run = { .uid = "u",
		.principal = "p",
		.owner = "o",
		.host = "h",
		.image = "i",
		.detail = cursor_of_text("{}") };
	struct event_policy policy = {
		.sha256 = { 1 }, .loaded_by = "l", .name = "n"
	};
	struct event_end end = { .status = 255, .end = "exited" };
	struct event_closed closed = { 1, 2, 3, 4 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	enum event_role role;
	bool available = false;

	(void)state;
	event_run_write(&run, &out);
	memset(&run, 0, sizeof(run));
	assert_int_equal(
	    event_run_read(cursor_of(bytes, out.used), &run), STATUS_OK);
	assert_string_equal(run.image, "i");
	out.used = 0;
	event_policy_write(&policy, &out);
	memset(&policy, 0, sizeof(policy));
	assert_int_equal(
	    event_policy_read(cursor_of(bytes, out.used), &policy), STATUS_OK);
	assert_string_equal(policy.name, "n");
	out.used = 0;
	event_end_write(&end, &out);
	memset(&end, 0, sizeof(end));
	assert_int_equal(
	    event_end_read(cursor_of(bytes, out.used), &end), STATUS_OK);
	assert_int_equal(end.status, 255);
	out.used = 0;
	event_closed_write(&closed, &out);
	memset(&closed, 0, sizeof(closed));
	assert_int_equal(
	    event_closed_read(cursor_of(bytes, out.used), &closed), STATUS_OK);
	assert_int_equal(closed.refused, 4);
	out.used = 0;
	event_producer_write(EVENT_ROLE_LAUNCHER, &out);
	assert_int_equal(
	    event_producer_read(cursor_of(bytes, out.used), &role), STATUS_OK);
	assert_int_equal(role, EVENT_ROLE_LAUNCHER);
	out.used = 0;
	event_state_write(true, &out);
	assert_int_equal(
	    event_state_read(cursor_of(bytes, out.used), &available),
	    STATUS_OK);
	assert_true(available);
	bytes[0] = 2;
	assert_int_equal(event_state_read(cursor_of(bytes, 1), &available),
	    STATUS_MALFORMED);
}

static void
acceptance_carries_its_pairs(void **state)
{
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct event_accepted accepted;
	uint64_t number = 0;
	int64_t seq = 0;

	(void)state;
	event_accepted_begin(9, &out);
	event_accepted_pair(8, 100, &out);
	event_accepted_pair(9, 101, &out);
	assert_int_equal(
	    event_accepted_read(cursor_of(bytes, out.used), &accepted),
	    STATUS_OK);
	assert_int_equal(accepted.number, 9);
	assert_true(event_accepted_next(&accepted, &number, &seq));
	assert_true(number == 8 && seq == 100);
	assert_true(event_accepted_next(&accepted, &number, &seq));
	assert_true(number == 9 && seq == 101);
	assert_false(event_accepted_next(&accepted, &number, &seq));
	assert_int_equal(
	    event_accepted_read(cursor_of(bytes, out.used - 1), &accepted),
	    STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_read_as_it_was_written),
		cmocka_unit_test(a_block_cut_off_is_refused_and_stays),
		cmocka_unit_test(changed_bytes_are_refused_or_read_as_sound),
		cmocka_unit_test(what_no_producer_means_is_refused),
		cmocka_unit_test(a_detail_is_one_json_object),
		cmocka_unit_test(texts_are_held_to_their_limits),
		cmocka_unit_test(fields_come_once_and_in_order),
		cmocka_unit_test(names_cover_every_number),
		cmocka_unit_test(the_rest_of_the_channel_is_read_as_written),
		cmocka_unit_test(acceptance_carries_its_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
