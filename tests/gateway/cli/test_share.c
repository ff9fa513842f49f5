#include "gateway/cli/share.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int64_t
taken(const char *text, enum share_limit which)
{
	struct share share = { .best_effort = false };
	struct problem problem = { 0 };

	if (share_take(&share, text, &problem) != STATUS_OK) {
		assert_true(problem.text[0] != '\0');
		assert_true(problem.cure[0] != '\0');
		return -1;
	}
	return share.limits[which];
}

static void
limits_are_read_as_people_write_them(void **state)
{
	(void)state;
	assert_int_equal(taken("memory=2GiB", SHARE_MEMORY), 2147483648);
	assert_int_equal(taken("memory=64M", SHARE_MEMORY), 67108864);
	assert_int_equal(taken("memory=1000", SHARE_MEMORY), 1000);
	assert_int_equal(taken("cpu=2", SHARE_CPU), 2000);
	assert_int_equal(taken("cpu=1.5", SHARE_CPU), 1500);
	assert_int_equal(taken("cpu=0.025", SHARE_CPU), 25);
	assert_int_equal(taken("pids=40", SHARE_PIDS), 40);
	assert_int_equal(taken("idle=10m", SHARE_IDLE), 600000);
	assert_int_equal(taken("grace=500ms", SHARE_GRACE), 500);
	assert_int_equal(taken("file-size=1KiB", SHARE_FILE_SIZE), 1024);
}

static void
what_is_no_limit_is_told(void **state)
{
	static const char *const wrong[] = { "", "=", "memory",
		"memory=", "memory=0", "memory=-1", "memory=2GB2",
		"memory=1.5GiB", "memory=99999999TiB", "cpu=", "cpu=0",
		"cpu=1.2345", "cpu=1.x", "cpu=.5", "pids=1KiB",
		"pids=9999999999", "idle=2y", "disk=1GiB", "memory =1" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(taken(wrong[i], SHARE_MEMORY), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_read_as_people_write_them),
		cmocka_unit_test(what_is_no_limit_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
