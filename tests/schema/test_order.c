#include "schema/order.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static unsigned char bytes[LIMIT_FRAME];

static void
every_order_is_read_as_it_was_written(void **state)
{
	struct order_layer layer = { .name = "policy.json",
		.sha256 = { 1, 2, 3 } };
	struct order_begin begin = {
		.run = "run-1", .id = { 9, 8 }, .observe = true
	};
	struct problem problem = { .text = "no policy", .cure = "give one" };
	struct order_tally tally = { 1, 2, 3, 4, 5, UINT64_MAX };
	struct order_via via = {
		.host = "a.test", .port = 3128, .credential = "login"
	};
	struct order_layer layer_read;
	struct order_begin begin_read;
	struct problem problem_read;
	struct order_tally tally_read;
	struct order_via via_read;
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	order_layer_write(&layer, &out);
	assert_int_equal(
	    order_layer_read(cursor_of(bytes, out.used), &layer_read),
	    STATUS_OK);
	assert_string_equal(layer_read.name, layer.name);
	assert_memory_equal(layer_read.sha256, layer.sha256, ORDER_DIGEST);
	out.used = 0;
	order_begin_write(&begin, &out);
	assert_int_equal(
	    order_begin_read(cursor_of(bytes, out.used), &begin_read),
	    STATUS_OK);
	assert_string_equal(begin_read.run, begin.run);
	assert_memory_equal(begin_read.id, begin.id, sizeof(begin.id));
	assert_true(begin_read.observe);
	out.used = 0;
	order_failed_write(&problem, &out);
	assert_int_equal(
	    order_failed_read(cursor_of(bytes, out.used), &problem_read),
	    STATUS_OK);
	assert_string_equal(problem_read.text, problem.text);
	assert_string_equal(problem_read.cure, problem.cure);
	out.used = 0;
	order_tally_write(&tally, &out);
	assert_int_equal(
	    order_tally_read(cursor_of(bytes, out.used), &tally_read),
	    STATUS_OK);
	assert_memory_equal(&tally_read, &tally, sizeof(tally));
	out.used = 0;
	order_via_write(&via, &out);
	assert_int_equal(
	    order_via_read(cursor_of(bytes, out.used), &via_read), STATUS_OK);
	assert_string_equal(via_read.host, via.host);
	assert_int_equal(via_read.port, via.port);
	assert_string_equal(via_read.credential, via.credential);
}

/* The result of reading so many bytes of an order. */
typedef int order_read(struct cursor body);

static int
read_layer(struct cursor body)
{
	struct order_layer layer;

	return order_layer_read(body, &layer);
}

static int
read_begin(struct cursor body)
{
	struct order_begin begin;

	return order_begin_read(body, &begin);
}

static int
read_failed(struct cursor body)
{
	struct problem problem;

	return order_failed_read(body, &problem);
}

static int
read_tally(struct cursor body)
{
	struct order_tally tally;

	return order_tally_read(body, &tally);
}

static int
read_via(struct cursor body)
{
	struct order_via via;

	return order_via_read(body, &via);
}

static void
assert_whole_only(order_read *read, size_t length)
{
	for (size_t cut = 0; cut < length; cut++)
		assert_int_equal(read(cursor_of(bytes, cut)), STATUS_MALFORMED);
	assert_int_equal(read(cursor_of(bytes, length)), STATUS_OK);
	assert_int_equal(read(cursor_of(bytes, length + 1)), STATUS_MALFORMED);
}

static void
an_order_cut_off_or_with_bytes_behind_is_refused(void **state)
{
	struct order_layer layer = { .name = "a" };
	struct order_begin begin = { .run = "a" };
	struct problem problem = { .text = "a", .cure = "b" };
	struct order_via via = { .host = "a", .port = 1 };
	struct order_tally tally = { 0 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	order_layer_write(&layer, &out);
	assert_whole_only(read_layer, out.used);
	out.used = 0;
	order_begin_write(&begin, &out);
	assert_whole_only(read_begin, out.used);
	out.used = 0;
	order_failed_write(&problem, &out);
	assert_whole_only(read_failed, out.used);
	out.used = 0;
	order_tally_write(&tally, &out);
	assert_whole_only(read_tally, out.used);
	out.used = 0;
	order_via_write(&via, &out);
	assert_whole_only(read_via, out.used);
}

static void
a_proxy_without_a_host_or_a_port_is_refused(void **state)
{
	struct order_via via = { .host = "", .port = 1 };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	order_via_write(&via, &out);
	assert_int_equal(
	    read_via(cursor_of(bytes, out.used)), STATUS_MALFORMED);
	via = (struct order_via){ .host = "a", .port = 0 };
	out.used = 0;
	order_via_write(&via, &out);
	assert_int_equal(
	    read_via(cursor_of(bytes, out.used)), STATUS_MALFORMED);
}

static void
a_run_without_a_name_is_refused(void **state)
{
	struct order_begin begin = { .run = "" };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	order_begin_write(&begin, &out);
	assert_int_equal(
	    read_begin(cursor_of(bytes, out.used)), STATUS_MALFORMED);
}

static void
a_name_that_does_not_fit_is_refused(void **state)
{
	char name[LIMIT_RULE_TEXT + 2];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	memset(name, 'a', sizeof(name));
	cursor_put_block(&out, name, sizeof(name) - 1);
	cursor_put(&out, name, ORDER_DIGEST);
	assert_int_equal(
	    read_layer(cursor_of(bytes, out.used)), STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_is_read_as_it_was_written),
		cmocka_unit_test(
		    an_order_cut_off_or_with_bytes_behind_is_refused),
		cmocka_unit_test(a_run_without_a_name_is_refused),
		cmocka_unit_test(a_proxy_without_a_host_or_a_port_is_refused),
		cmocka_unit_test(a_name_that_does_not_fit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
