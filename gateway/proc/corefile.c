#include "gateway/proc/corefile.h"

#include "schema/status.h"

#include <sys/prctl.h>
#include <sys/resource.h>

/* The one limit with which no handler is started that core_pattern names. */
#define NO_CORE 1

int
corefile_forbid(void)
{
	struct rlimit limit;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    getrlimit(RLIMIT_CORE, &limit) != 0)
		return STATUS_SYSTEM;
	/* A hard limit that is lower already can only stay. */
	if (limit.rlim_max > NO_CORE)
		limit.rlim_max = NO_CORE;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_CORE, &limit) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}
