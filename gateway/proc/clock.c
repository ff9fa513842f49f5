#include "gateway/proc/clock.h"

#include <assert.h>
#include <time.h>

static int64_t
microseconds(clockid_t which)
{
	struct timespec now;

	int failed = clock_gettime(which, &now);

	/* It fails only for a clock that does not exist. */
	assert(failed == 0);
	(void)failed;
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
clock_wall_us(void)
{
	return microseconds(CLOCK_REALTIME);
}

int64_t
clock_monotonic_us(void)
{
	return microseconds(CLOCK_MONOTONIC);
}

int64_t
clock_boottime_us(void)
{
	return microseconds(CLOCK_BOOTTIME);
}
