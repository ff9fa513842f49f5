#include "gateway/proc/corefile.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cmocka.h>

/* Limits only fall, so this one comes first. */
static void
core_is_limited_and_nobody_may_trace(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
	if (limit.rlim_max < 1)
		skip();
	assert_int_equal(corefile_forbid(), STATUS_OK);
	assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
	assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
	assert_int_equal(limit.rlim_cur, 1);
	assert_int_equal(limit.rlim_max, 1);
}

static void
hard_limit_of_zero_is_good_enough(void **state)
{
	struct rlimit limit = { .rlim_cur = 0, .rlim_max = 0 };

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_CORE, &limit), 0);
	assert_int_equal(corefile_forbid(), STATUS_OK);
	assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
	assert_int_equal(limit.rlim_max, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_is_limited_and_nobody_may_trace),
		cmocka_unit_test(hard_limit_of_zero_is_good_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
