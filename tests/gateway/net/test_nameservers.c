#include "gateway/net/nameservers.h"

#include "schema/problem.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void
expect(const struct nameservers *servers, size_t which, const char *text)
{
	char out[ENDPOINT_TEXT_MAX];

	assert_true(which < servers->count);
	endpoint_print(&servers->list[which], out);
	assert_string_equal(out, text);
}

static void
nameserver_lines_are_read_in_order(void **state)
{
	struct nameservers servers = nameservers_of_text(
	    cursor_of_text("# nameserver 192.0.2.9\n"
			   "search corp.test\n"
			   "nameserver 192.0.2.1\n"
			   "nameserver\t2001:db8::1 # the second\n"
			   "options ndots:5\n"
			   "nameserver [::1]:5353"));

	(void)state;
	assert_int_equal(servers.count, 3);
	assert_int_equal(servers.first, 0);
	expect(&servers, 0, "192.0.2.1:53");
	expect(&servers, 1, "[2001:db8::1]:53");
	expect(&servers, 2, "[::1]:5353");
}

static void
lines_that_do_not_read_are_passed_over(void **state)
{
	struct nameservers servers =
	    nameservers_of_text(cursor_of_text("nameserver\n"
					       "nameserver 127.1\n"
					       "nameserver fe80::1%eth0\n"
					       "nameserver 127.0.0.1:0\n"
					       "nameserver 127.0.0.1:65536\n"
					       "nameserver [::1]\n"
					       "nameserver 127.0.0.1:53x\n"
					       "nameservers 192.0.2.1\n"
					       "nameserver 127.0.0.1:54\r\n"));

	(void)state;
	assert_int_equal(servers.count, 1);
	expect(&servers, 0, "127.0.0.1:54");
}

static void
no_more_than_the_limit_are_taken(void **state)
{
	struct nameservers servers =
	    nameservers_of_text(cursor_of_text("nameserver 192.0.2.1\n"
					       "nameserver 192.0.2.2\n"
					       "nameserver 192.0.2.3\n"
					       "nameserver 192.0.2.4\n"));

	(void)state;
	assert_int_equal(servers.count, LIMIT_NAMESERVERS);
	expect(&servers, 2, "192.0.2.3:53");
}

static void
without_any_the_machine_itself_is_asked(void **state)
{
	struct nameservers servers;
	struct problem problem;

	(void)state;
	assert_int_equal(
	    nameservers_read("/nonexistent/resolv.conf", &servers, &problem),
	    STATUS_OK);
	assert_int_equal(servers.count, 1);
	expect(&servers, 0, "127.0.0.1:53");
}

static void
file_that_cannot_be_read_is_a_problem(void **state)
{
	struct nameservers servers;
	struct problem problem;

	(void)state;
	assert_int_equal(
	    nameservers_read("/proc/self", &servers, &problem), STATUS_PROBLEM);
	assert_non_null(strstr(problem.text, "cannot read /proc/self"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nameserver_lines_are_read_in_order),
		cmocka_unit_test(lines_that_do_not_read_are_passed_over),
		cmocka_unit_test(no_more_than_the_limit_are_taken),
		cmocka_unit_test(without_any_the_machine_itself_is_asked),
		cmocka_unit_test(file_that_cannot_be_read_is_a_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
