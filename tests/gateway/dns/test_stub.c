/* Questions of a sandbox, with a test in the place of the audit writer. */
#include "gateway/dns/stub.h"

#include "gateway/audit/sink.h"
#include "gateway/dns/names.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "gateway/run/run.h"
#include "policy/document.h"
#include "policy/stack.h"
#include "schema/event.h"
#include "schema/frame.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TYPE_TXT 16
#define TYPE_ANY 255
#define CLASS_CHAOS 3

static const char policy_text[] =
    "{\"version\": 1, \"rules\": ["
    "{\"id\": \"sites\", \"host\": [\"*.good.test\"]},"
    "{\"id\": \"never\", \"host\": [\"bad.good.test\"], \"action\": \"deny\"}"
    "]}";

struct scene {
	struct loop *loop;
	struct sink *sink;
	struct run run;
	struct names *names;
	struct stub *stub;
	int writer;
	/* The last answer. */
	unsigned char bytes[LIMIT_DNS_MESSAGE + 2];
	size_t length;
	/* The rows that one look at the channel found. */
	struct event events[8];
	size_t count;
	unsigned char packet[LIMIT_FRAME];
};

static struct stack *
load(void)
{
	struct problems problems = { 0 };
	struct policy *policy;
	static const uint8_t digest[POLICY_DIGEST] = { 7 };
	const struct policy *layers[1];
	struct stack *stack;

	assert_int_equal(document_load(cursor_of_text(policy_text), "test",
			     &policy, &problems),
	    STATUS_OK);
	policy_stamp(policy, digest);
	layers[0] = policy;
	stack = stack_new(layers, 1);
	assert_non_null(stack);
	policy_unref(policy);
	return stack;
}

static int
setup(void **state)
{
	static const struct order_begin identity = { .run = "run-test" };
	struct scene *scene = calloc(1, sizeof(*scene));
	struct problem problem;
	int pair[2];

	assert_non_null(scene);
	assert_int_equal(fdpass_pair(pair), STATUS_OK);
	scene->loop = loop_new();
	scene->writer = pair[0];
	scene->sink = sink_new(scene->loop, pair[1]);
	scene->names = names_new();
	assert_int_equal(run_init(&scene->run, &identity, load(),
			     1700000000000000, &problem),
	    STATUS_OK);
	scene->stub = stub_new(&scene->run, scene->names, scene->sink);
	assert_non_null(scene->stub);
	*state = scene;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *scene = *state;

	stub_free(scene->stub);
	names_free(scene->names);
	run_done(&scene->run);
	sink_free(scene->sink);
	loop_free(scene->loop);
	if (scene->writer >= 0)
		(void)close(scene->writer);
	free(scene);
	return 0;
}

static void
put_name(struct cursor_writer *out, const char *name)
{
	while (*name != '\0') {
		size_t length = strcspn(name, ".");

		cursor_put_u8(out, (uint8_t)length);
		cursor_put(out, name, length);
		name += length + (name[length] == '.');
	}
	cursor_put_u8(out, 0);
}

/* A question as resolvers write it, with EDNS. */
static size_t
write_question(const char *name, uint16_t type, uint16_t class,
    unsigned char *out, size_t size)
{
	static const uint16_t header[] = { 0x1234, 0x0100, 1, 0, 0, 1 };
	static const unsigned char edns[] = { 0, 0, 41, 4, 208, 0, 0, 0, 0, 0,
		0 };
	struct cursor_writer writer = cursor_writer_of(out, size);

	for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++)
		cursor_put_u16(&writer, header[i]);
	put_name(&writer, name);
	cursor_put_u16(&writer, type);
	cursor_put_u16(&writer, class);
	cursor_put(&writer, edns, sizeof(edns));
	assert_true(cursor_written(&writer));
	return writer.used;
}

static enum dns_rcode
ask_class(struct scene *scene, const char *name, uint16_t type, uint16_t class)
{
	unsigned char question[512];
	size_t length =
	    write_question(name, type, class, question, sizeof(question));
	struct cursor_writer out =
	    cursor_writer_of(scene->bytes, sizeof(scene->bytes));

	assert_true(stub_answer(
	    scene->stub, cursor_of(question, length), DNS_UDP, &out));
	scene->length = out.used;
	assert_true(out.used > 12);
	assert_int_equal(out.bytes[0] << 8 | out.bytes[1], 0x1234);
	return (enum dns_rcode)(out.bytes[3] & 15);
}

static enum dns_rcode
ask(struct scene *scene, const char *name, uint16_t type)
{
	return ask_class(scene, name, type, DNS_CLASS_IN);
}

static unsigned
answers(const struct scene *scene)
{
	return (unsigned)(scene->bytes[6] << 8 | scene->bytes[7]);
}

static bool
answer_has(const struct scene *scene, const void *bytes, size_t length)
{
	return memmem(scene->bytes, scene->length, bytes, length) != NULL;
}

/* The address that the answer ends with, in front of its EDNS record. */
static struct address
address_given(const struct scene *scene, size_t length)
{
	const unsigned char *at = scene->bytes + scene->length - 11 - length;

	assert_int_equal(answers(scene), 1);
	return length == 4 ? address_v4(at) : address_v6(at);
}

/* Reads the rows that were put since it last looked; they borrow. */
static size_t
look(struct scene *scene)
{
	struct frame frame;
	struct fdpass fds;
	size_t length;

	scene->count = 0;
	sink_flush(scene->sink);
	if (fdpass_receive(scene->writer, scene->packet, sizeof(scene->packet),
		&length, &fds) != STATUS_OK)
		return 0;
	assert_int_equal(frame_parse(scene->packet, length, &frame), STATUS_OK);
	assert_int_equal(frame.type, FRAME_AUDIT_EVENTS);
	while (!cursor_is_empty(&frame.body)) {
		assert_true(scene->count < 8);
		assert_int_equal(
		    event_read(&frame.body, &scene->events[scene->count++]),
		    STATUS_OK);
	}
	return scene->count;
}

/* Rows that were put since it last looked, and what they count. */
struct crowd {
	uint64_t own, sums, counted;
};

static void
look_at_one(const struct event *event, struct crowd *crowd)
{
	struct cursor detail = event->detail;
	uint64_t count;

	assert_int_equal(event->verdict, EVENT_DENY);
	if (!cursor_literal(&detail, "{\"count\":")) {
		crowd->own++;
		return;
	}
	assert_true(cursor_decimal(&detail, UINT32_MAX, &count));
	crowd->sums++;
	crowd->counted += count;
}

static struct crowd
look_at_crowd(struct scene *scene)
{
	struct crowd crowd = { 0 };
	struct event event;
	struct frame frame;
	struct fdpass fds;
	size_t length;

	sink_flush(scene->sink);
	while (fdpass_receive(scene->writer, scene->packet,
		   sizeof(scene->packet), &length, &fds) == STATUS_OK) {
		assert_int_equal(
		    frame_parse(scene->packet, length, &frame), STATUS_OK);
		while (!cursor_is_empty(&frame.body)) {
			assert_int_equal(
			    event_read(&frame.body, &event), STATUS_OK);
			look_at_one(&event, &crowd);
		}
	}
	return crowd;
}

static void
assert_text(struct cursor got, const char *wanted)
{
	assert_int_equal(got.left, strlen(wanted));
	assert_memory_equal(got.at, wanted, got.left);
}

static void
name_has_one_address_a_family_and_one_row(void **state)
{
	struct scene *scene = *state;
	struct address first, again, other;

	assert_int_equal(ask(scene, "a.good.test", DNS_TYPE_A), DNS_NOERROR);
	first = address_given(scene, 4);
	assert_true(names_is_synthetic(&first));
	assert_int_equal(look(scene), 1);
	assert_int_equal(scene->events[0].kind, EVENT_DNS);
	assert_int_equal(scene->events[0].verdict, EVENT_ALLOW);
	assert_text(scene->events[0].object, "a.good.test");
	assert_text(scene->events[0].verb, "A");
	assert_int_equal(ask(scene, "a.good.test", DNS_TYPE_A), DNS_NOERROR);
	again = address_given(scene, 4);
	assert_true(address_equals(&first, &again));
	assert_int_equal(ask(scene, "a.good.test", DNS_TYPE_AAAA), DNS_NOERROR);
	other = address_given(scene, 16);
	assert_string_equal(
	    names_find(scene->names, &first)->text, "a.good.test");
	assert_string_equal(
	    names_find(scene->names, &other)->text, "a.good.test");
	assert_int_equal(look(scene), 0);
	/* A name is no request: nothing has gone anywhere. */
	assert_int_equal(scene->run.tally.requests, 0);
}

static void
case_of_a_name_does_not_matter_B18(void **state)
{
	struct scene *scene = *state;
	struct address first, again;

	assert_int_equal(ask(scene, "B.gOOd.test", DNS_TYPE_A), DNS_NOERROR);
	first = address_given(scene, 4);
	assert_int_equal(ask(scene, "b.good.TEST", DNS_TYPE_A), DNS_NOERROR);
	again = address_given(scene, 4);
	assert_true(address_equals(&first, &again));
	assert_int_equal(look(scene), 1);
}

static void
denied_name_is_refused_with_its_reason_and_has_one_row_D02(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    ask(scene, "bad.good.test", DNS_TYPE_A), DNS_NXDOMAIN);
		assert_int_equal(answers(scene), 0);
		assert_true(answer_has(scene, "exeat: denied", 13));
	}
	assert_int_equal(ask(scene, "x.other.test", DNS_TYPE_A), DNS_NXDOMAIN);
	assert_true(answer_has(scene, "exeat: no_rule", 14));
	assert_int_equal(look(scene), 2);
	assert_int_equal(scene->events[0].reason, REASON_DENIED);
	assert_text(scene->events[0].rule, "never");
	assert_int_equal(scene->events[1].reason, REASON_NO_RULE);
	assert_int_equal(scene->events[1].verdict, EVENT_DENY);
	assert_int_equal(names_count(scene->names), 0);
	assert_int_equal(scene->run.tally.requests, 2);
	assert_int_equal(scene->run.tally.refused, 2);
}

static void
data_in_labels_goes_nowhere_but_into_the_audit_B26(void **state)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, TYPE_TXT,
		TYPE_ANY, 65399 };
	static const char name[] = "c2VjcmV0.data.collect.test";
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		assert_int_equal(ask(scene, name, types[i]), DNS_NXDOMAIN);
		assert_int_equal(look(scene), 1);
		assert_int_equal(scene->events[0].verdict, EVENT_DENY);
		assert_int_equal(scene->events[0].object.left, strlen(name));
	}
	assert_int_equal(names_count(scene->names), 0);
}

static void
other_types_of_an_allowed_name_are_not_answered(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(ask(scene, "c.good.test", TYPE_TXT), DNS_REFUSED);
	assert_true(answer_has(scene, "exeat: dns_policy", 17));
	assert_int_equal(ask_class(scene, "c.good.test", TYPE_TXT, CLASS_CHAOS),
	    DNS_REFUSED);
	/* So that clients fall back to addresses. */
	assert_int_equal(
	    ask(scene, "c.good.test", DNS_TYPE_HTTPS), DNS_NOERROR);
	assert_int_equal(answers(scene), 0);
	assert_int_equal(ask(scene, "c.good.test", DNS_TYPE_SVCB), DNS_NOERROR);
	assert_int_equal(answers(scene), 0);
	assert_int_equal(names_count(scene->names), 0);
}

static void
what_is_no_question_gets_no_answer(void **state)
{
	struct scene *scene = *state;
	struct cursor_writer out =
	    cursor_writer_of(scene->bytes, sizeof(scene->bytes));
	unsigned char message[512];
	size_t length = write_question(
	    "a.good.test", DNS_TYPE_A, DNS_CLASS_IN, message, sizeof(message));

	assert_false(
	    stub_answer(scene->stub, cursor_of(message, 11), DNS_UDP, &out));
	/* An answer to an answer would go round without end. */
	message[2] |= 0x80;
	assert_false(stub_answer(
	    scene->stub, cursor_of(message, length), DNS_UDP, &out));
	assert_int_equal(out.used, 0);
	assert_int_equal(look(scene), 0);
}

static void
say_available(struct scene *scene, bool available)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_STATE, packet, sizeof(packet));

	event_state_write(available, &out);
	assert_int_equal(
	    fdpass_send(scene->writer, out.bytes, out.used, NULL, 0),
	    STATUS_OK);
	while (sink_is_open(scene->sink) != available)
		assert_true(
		    event_base_loop(loop_base(scene->loop), EVLOOP_ONCE) >= 0);
}

static void
new_name_without_an_audit_is_not_given_and_gets_its_row_later(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(ask(scene, "old.good.test", DNS_TYPE_A), DNS_NOERROR);
	assert_int_equal(look(scene), 1);
	say_available(scene, false);
	assert_int_equal(ask(scene, "new.good.test", DNS_TYPE_A), DNS_SERVFAIL);
	assert_int_equal(answers(scene), 0);
	assert_int_equal(ask(scene, "x.other.test", DNS_TYPE_A), DNS_SERVFAIL);
	assert_int_equal(ask(scene, "old.good.test", DNS_TYPE_A), DNS_NOERROR);
	assert_int_equal(names_count(scene->names), 1);
	assert_int_equal(look(scene), 0);
	say_available(scene, true);
	assert_int_equal(ask(scene, "new.good.test", DNS_TYPE_A), DNS_NOERROR);
	assert_int_equal(ask(scene, "x.other.test", DNS_TYPE_A), DNS_NXDOMAIN);
	assert_int_equal(look(scene), 2);
	assert_text(scene->events[0].object, "new.good.test");
	assert_text(scene->events[1].object, "x.other.test");
}

static void
writer_that_is_gone_gives_no_new_name(void **state)
{
	struct scene *scene = *state;

	(void)close(scene->writer);
	scene->writer = -1;
	while (sink_is_open(scene->sink))
		assert_true(
		    event_base_loop(loop_base(scene->loop), EVLOOP_ONCE) >= 0);
	assert_int_equal(ask(scene, "a.good.test", DNS_TYPE_A), DNS_SERVFAIL);
	assert_int_equal(names_count(scene->names), 0);
}

static void
made_up_names_of_one_zone_are_counted_B26(void **state)
{
	struct scene *scene = *state;
	struct crowd crowd;
	char name[64];

	for (unsigned i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof(name), "x%u.y.evil.co.uk", i);
		assert_int_equal(ask(scene, name, DNS_TYPE_A), DNS_NXDOMAIN);
	}
	crowd = look_at_crowd(scene);
	assert_int_equal(crowd.own, LIMIT_FOLD_ROWS);
	/* Another zone has rows of its own, though it shares a suffix. */
	assert_int_equal(ask(scene, "a.good.co.uk", DNS_TYPE_A), DNS_NXDOMAIN);
	assert_int_equal(look(scene), 1);
	assert_int_equal(
	    ask(scene, "last.evil.co.uk", DNS_TYPE_TXT), DNS_NXDOMAIN);
	stub_finish(scene->stub);
	assert_int_equal(look(scene), 1);
	assert_text(scene->events[0].host, "last.evil.co.uk");
	assert_text(scene->events[0].verb, "TXT");
	assert_int_equal(scene->events[0].reason, REASON_NO_RULE);
	assert_int_equal(scene->events[0].status, DNS_NXDOMAIN);
	assert_non_null(memmem(scene->events[0].detail.at,
	    scene->events[0].detail.left, "\"zone\":\"evil.co.uk\"}", 20));
	stub_finish(scene->stub);
	assert_int_equal(look(scene), 0);
}

static void
made_up_zones_and_names_that_are_none_are_counted_too(void **state)
{
	struct scene *scene = *state;
	struct crowd crowd;
	char name[64];

	for (unsigned i = 0; i < 2500; i++) {
		(void)snprintf(name, sizeof(name), "www.evil%u.test", i);
		assert_int_equal(ask(scene, name, DNS_TYPE_A), DNS_NXDOMAIN);
		(void)snprintf(name, sizeof(name), "no host %u.test", i);
		assert_int_equal(ask(scene, name, DNS_TYPE_A), DNS_REFUSED);
	}
	stub_finish(scene->stub);
	crowd = look_at_crowd(scene);
	assert_in_range(crowd.own, 1, 1000);
	assert_int_equal(crowd.own + crowd.counted, 5000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* What is used up is our own fault, and no answer of the policy's. */
static void
name_without_an_address_left_is_told_so_and_has_a_row(void **state)
{
	struct scene *scene = *state;
	struct name_addresses given;
	struct hostname host;
	char text[32];
	bool is_new;

	for (unsigned i = 0; i < LIMIT_NAMES; i++) {
		(void)snprintf(text, sizeof(text), "n%u.good.test", i);
		assert_int_equal(
		    hostname_parse(text, strlen(text), &host), STATUS_OK);
		assert_int_equal(
		    names_give(scene->names, &host, &given, &is_new),
		    STATUS_OK);
	}
	assert_int_equal(
	    ask(scene, "one-more.good.test", DNS_TYPE_A), DNS_SERVFAIL);
	assert_true(answer_has(scene, "exeat: overload", 15));
	assert_int_equal(look(scene), 1);
	assert_int_equal(scene->events[0].verdict, EVENT_DENY);
	assert_int_equal(scene->events[0].reason, REASON_OVERLOAD);
	/* What has its address keeps it. */
	assert_int_equal(ask(scene, "n7.good.test", DNS_TYPE_A), DNS_NOERROR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(name_has_one_address_a_family_and_one_row),
		TEST(case_of_a_name_does_not_matter_B18),
		TEST(
		    denied_name_is_refused_with_its_reason_and_has_one_row_D02),
		TEST(data_in_labels_goes_nowhere_but_into_the_audit_B26),
		TEST(other_types_of_an_allowed_name_are_not_answered),
		TEST(what_is_no_question_gets_no_answer),
		TEST(
		    new_name_without_an_audit_is_not_given_and_gets_its_row_later),
		TEST(writer_that_is_gone_gives_no_new_name),
		TEST(name_without_an_address_left_is_told_so_and_has_a_row),
		TEST(made_up_names_of_one_zone_are_counted_B26),
		TEST(made_up_zones_and_names_that_are_none_are_counted_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
