#include "gateway/launch/privs.h"

#include "gateway/launch/plan.h"
#include "schema/status.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int
privs_limit(const struct plan *plan, struct problem *reterr)
{
	/*
	 * A core limit of 1 and not 0: no file either way, but 0 would still
	 * start the handler that the machine's core_pattern may name.
	 */
	const struct {
		__rlimit_resource_t which;
		rlim_t value;
		const char *name;
	} limits[] = {
		{ RLIMIT_CORE, 1, "core size" },
		{ RLIMIT_NPROC, plan->pids, "processes" },
		{ RLIMIT_NOFILE, plan->open_files, "open files" },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit = { limits[i].value, limits[i].value };
		struct rlimit now;

		if (getrlimit(limits[i].which, &now) != 0)
			return problem_errno(reterr,
			    "cannot read the limit of %s", limits[i].name);
		/* A hard limit that is lower already stays. */
		if (now.rlim_max < limit.rlim_max)
			limit.rlim_cur = limit.rlim_max = now.rlim_max;
		if (setrlimit(limits[i].which, &limit) != 0)
			return problem_errno(
			    reterr, "cannot limit %s", limits[i].name);
	}
	return STATUS_OK;
}

static int
drop_bounding_set(void)
{
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0)
			/* The first one that the kernel does not know. */
			return errno == EINVAL && cap > CAP_SYS_ADMIN
				   ? STATUS_OK
				   : STATUS_SYSTEM;
	return STATUS_OK;
}

int
privs_drop(struct problem *reterr)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	if (drop_bounding_set() != STATUS_OK ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return problem_errno(reterr, "cannot drop capabilities");
	/* Not even a uid of 0 would mean anything to execve. */
	if (prctl(PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
		    SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
		    SECBIT_NO_CAP_AMBIENT_RAISE |
		    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0) != 0)
		return problem_errno(reterr, "cannot lock the secure bits");
	if (syscall(SYS_capset, &header, none) != 0)
		return problem_errno(reterr, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return problem_errno(reterr, "cannot forbid new privileges");
	return STATUS_OK;
}
