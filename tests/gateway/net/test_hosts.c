#include "gateway/net/hosts.h"

#include "schema/hostname.h"
#include "schema/problem.h"
#include "tests/gateway/net/peer.h"

static size_t
found(const struct hosts *hosts, const char *text, struct address *out,
    size_t size)
{
	struct hostname name;

	assert_int_equal(hostname_parse(text, strlen(text), &name), STATUS_OK);
	return hosts_find(hosts, &name, out, size);
}

static void
name_has_the_addresses_of_all_its_lines_in_order(void **state)
{
	struct hosts *hosts =
	    hosts_of_text(cursor_of_text("192.0.2.2\tb.test a.test\n"
					 "2001:db8::1  a.test # the second\n"
					 "192.0.2.1 a.test\n"));
	struct address got[4], first = peer_address("192.0.2.2");
	struct address second = peer_address("2001:db8::1");

	(void)state;
	assert_non_null(hosts);
	assert_int_equal(found(hosts, "a.test", got, 4), 3);
	assert_true(address_equals(&got[0], &first));
	assert_true(address_equals(&got[1], &second));
	assert_int_equal(found(hosts, "a.test", got, 2), 2);
	assert_int_equal(found(hosts, "b.test", got, 4), 1);
	assert_int_equal(found(hosts, "c.test", got, 4), 0);
	hosts_free(hosts);
}

static void
lines_that_do_not_read_are_passed_over(void **state)
{
	struct hosts *hosts = hosts_of_text(
	    cursor_of_text("# 192.0.2.9 commented.test\n"
			   "\n"
			   "127.1 odd.test\n"
			   "192.0.2.1\n"
			   "fe80::1%eth0 zone.test\n"
			   "   192.0.2.3 Mixed.Test. bad..name good.test\r\n"
			   "192.0.2.4 last.test"));
	struct address got[4];

	(void)state;
	assert_non_null(hosts);
	assert_int_equal(found(hosts, "commented.test", got, 4), 0);
	assert_int_equal(found(hosts, "odd.test", got, 4), 0);
	assert_int_equal(found(hosts, "zone.test", got, 4), 0);
	assert_int_equal(found(hosts, "mixed.test", got, 4), 1);
	assert_int_equal(found(hosts, "good.test", got, 4), 1);
	assert_int_equal(found(hosts, "last.test", got, 4), 1);
	hosts_free(hosts);
}

static void
empty_and_missing_files_are_the_same(void **state)
{
	struct problem problem;
	struct hosts *hosts = hosts_read("/nonexistent/hosts", &problem);
	struct address got[1];

	(void)state;
	assert_non_null(hosts);
	assert_int_equal(found(hosts, "a.test", got, 1), 0);
	hosts_free(hosts);
	hosts = hosts_read("/dev/null", &problem);
	assert_non_null(hosts);
	assert_int_equal(found(hosts, "a.test", got, 1), 0);
	hosts_free(hosts);
	hosts_free(NULL);
}

static void
file_that_cannot_be_read_or_is_endless_is_a_problem(void **state)
{
	struct problem problem;
	int before = peer_descriptors();

	(void)state;
	assert_null(hosts_read("/dev/zero", &problem));
	assert_non_null(strstr(problem.text, "/dev/zero has more than"));
	assert_null(hosts_read("/proc/self", &problem));
	assert_non_null(strstr(problem.text, "cannot read"));
	assert_int_equal(peer_descriptors(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    name_has_the_addresses_of_all_its_lines_in_order),
		cmocka_unit_test(lines_that_do_not_read_are_passed_over),
		cmocka_unit_test(empty_and_missing_files_are_the_same),
		cmocka_unit_test(
		    file_that_cannot_be_read_or_is_endless_is_a_problem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
