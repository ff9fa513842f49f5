#include "gateway/launch/bounds.h"

#include "gateway/launch/outcome.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/usage.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* What is used when nothing was asked for: no more than this, and no more
 * than half of the machine. */
#define BOUNDS_MEMORY_DEFAULT (UINT64_C(4) << 30)
#define BOUNDS_THOUSAND 1000
#define BOUNDS_NICE 5 /* a share of processors is also a smaller one */

static uint64_t
default_memory(void)
{
	struct sysinfo info;
	uint64_t half;

	if (sysinfo(&info) != 0)
		return BOUNDS_MEMORY_DEFAULT;
	half = (uint64_t)info.totalram * info.mem_unit / 2;
	return half < BOUNDS_MEMORY_DEFAULT ? half : BOUNDS_MEMORY_DEFAULT;
}

/* Asked for and not to be had: an error, or told. */
static int
give_up(const struct bounds *bounds, struct outcome *outcome, const char *what,
    struct problem *reterr)
{
	struct problem note;

	(void)problem_set(
	    &note, "limit.unenforceable: nothing keeps the limit of %s", what);
	if (bounds->plan->limits.best_effort)
		return outcome_add_degraded(outcome, note.text) == STATUS_OK
			   ? STATUS_OK
			   : problem_set(reterr, "%s", note.text);
	(void)problem_set(reterr, "%s", note.text);
	return problem_cure(reterr,
	    "start it in a group of its own: systemd-run --user --scope -p "
	    "Delegate=yes exeat run ..., or as root, or set best_effort");
}

static void
limit_memory(struct bounds *bounds)
{
	uint64_t asked = bounds->plan->limits.memory;

	bounds->memory = asked > 0 ? asked : default_memory();
	if (cgroup_has(&bounds->cgroup, CGROUP_MEMORY) &&
	    cgroup_limit(&bounds->cgroup, CGROUP_MEMORY, bounds->memory) ==
		STATUS_OK)
		return;
	/* What a process maps privately is kept by the kernel; what they share
	 * and the sum by looking. */
	bounds->data = true;
}

/* Whole processors can be had by affinity; a part of one cannot. */
static int
limit_cpu(
    struct bounds *bounds, struct outcome *outcome, struct problem *reterr)
{
	uint64_t asked = bounds->plan->limits.cpu_thousandths;

	if (asked == 0)
		return STATUS_OK;
	if (cgroup_has(&bounds->cgroup, CGROUP_CPU) &&
	    cgroup_limit(&bounds->cgroup, CGROUP_CPU, asked) == STATUS_OK)
		return STATUS_OK;
	bounds->spread = true;
	if (asked % BOUNDS_THOUSAND == 0)
		return STATUS_OK;
	return give_up(bounds, outcome, "a part of a processor", reterr);
}

static int
limit_disk(
    struct bounds *bounds, struct outcome *outcome, struct problem *reterr)
{
	if (bounds->plan->limits.workspace_bytes == 0 ||
	    bounds->plan->folder_count > 0)
		return STATUS_OK;
	return give_up(bounds, outcome,
	    "bytes in a workspace that is written to directly", reterr);
}

int
bounds_make(struct bounds *ret, const struct plan *plan,
    struct outcome *outcome, struct problem *reterr)
{
	int status;

	*ret = (struct bounds){ .plan = plan, .seed = (uint64_t)getpid() };
	cgroup_make(plan->run, &ret->cgroup);
	/* Beside RLIMIT_NPROC, which counts the sandbox's user alone. */
	if (cgroup_has(&ret->cgroup, CGROUP_PIDS))
		(void)!cgroup_limit(&ret->cgroup, CGROUP_PIDS, plan->pids + 1);
	limit_memory(ret);
	status = limit_cpu(ret, outcome, reterr);
	if (status == STATUS_OK)
		status = limit_disk(ret, outcome, reterr);
	return status;
}

void
bounds_done(struct bounds *bounds)
{
	cgroup_done(&bounds->cgroup);
}

static int
set_limit(__rlimit_resource_t which, uint64_t value, const char *name,
    struct problem *reterr)
{
	struct rlimit limit = { value, value }, now;

	if (getrlimit(which, &now) != 0)
		return problem_errno(
		    reterr, "cannot read the limit of %s", name);
	if (now.rlim_max < value)
		return STATUS_OK;
	if (setrlimit(which, &limit) != 0)
		return problem_errno(reterr, "cannot limit %s", name);
	return STATUS_OK;
}

/* The processors are drawn by the process's number, so that sandboxes side by
 * side do not all sit on the same ones. */
static int
spread(uint64_t count, uint64_t seed, struct problem *reterr)
{
	cpu_set_t all, some;
	uint64_t taken = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return problem_errno(reterr, "cannot read the processors");
	CPU_ZERO(&some);
	for (size_t i = 0; i < CPU_SETSIZE && taken < count; i++) {
		size_t cpu = (seed + i) % CPU_SETSIZE;

		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_SET(cpu, &some);
		taken++;
	}
	if (sched_setaffinity(0, sizeof(some), &some) != 0 ||
	    setpriority(PRIO_PROCESS, 0, BOUNDS_NICE) != 0)
		return problem_errno(reterr, "cannot limit the processors");
	return STATUS_OK;
}

int
bounds_enter(const struct bounds *bounds, struct problem *reterr)
{
	const struct plan_limits *limits = &bounds->plan->limits;
	int status = STATUS_OK;

	/* Only when it was asked for: some programs map far more than they
	 * ever touch. */
	if (bounds->data && limits->memory > 0)
		status =
		    set_limit(RLIMIT_DATA, limits->memory, "memory", reterr);
	if (status == STATUS_OK && limits->file_bytes > 0)
		status = set_limit(
		    RLIMIT_FSIZE, limits->file_bytes, "file size", reterr);
	if (status == STATUS_OK && bounds->spread)
		status =
		    spread((limits->cpu_thousandths + BOUNDS_THOUSAND - 1) /
			       BOUNDS_THOUSAND,
			bounds->seed, reterr);
	return status;
}

static bool
disk_is_over(struct bounds *bounds, int64_t now_us)
{
	const struct plan *plan = bounds->plan;
	uint64_t used;
	char upper[LIMIT_PATH];

	if (plan->limits.workspace_bytes == 0 || plan->folder_count == 0 ||
	    now_us < bounds->disk_us)
		return false;
	bounds->disk_us = now_us + INT64_C(1000) * LIMIT_DISK_LOOK_MS;
	if (snprintf(upper, sizeof(upper), "%s/upper",
		plan->folders[0].source) >= (int)sizeof(upper))
		return false;
	return usage_disk(upper, &used) == STATUS_OK &&
	       used > plan->limits.workspace_bytes;
}

static bool
memory_is_over(const struct bounds *bounds, int proc, uint64_t rough)
{
	uint64_t exact;

	if (!bounds->data || rough <= bounds->memory)
		return false;
	/* What processes share was counted for each of them. */
	return usage_memory(proc, &exact) == STATUS_OK &&
	       exact > bounds->memory;
}

enum bounds_verdict
bounds_look(struct bounds *bounds, int proc, int64_t now_us)
{
	int64_t idle_us = bounds->plan->idle_ms * 1000;
	struct usage usage;

	if (usage_sample(proc, &usage) != STATUS_OK)
		return BOUNDS_KEPT;
	if (usage.memory > bounds->memory_peak)
		bounds->memory_peak = usage.memory;
	if (usage.processes > bounds->processes_peak)
		bounds->processes_peak = usage.processes;
	/* Whoever the kernel chose: the rest is of no use without it. */
	if (cgroup_kills(&bounds->cgroup) > 0 ||
	    memory_is_over(bounds, proc, usage.memory))
		return BOUNDS_MEMORY;
	if (disk_is_over(bounds, now_us))
		return BOUNDS_DISK;
	if (usage.ticks != bounds->ticks || bounds->busy_us == 0) {
		bounds->ticks = usage.ticks;
		bounds->busy_us = now_us;
	}
	if (idle_us > 0 && now_us - bounds->busy_us >= idle_us)
		return BOUNDS_IDLE;
	return BOUNDS_KEPT;
}

void
bounds_tell(const struct bounds *bounds, struct outcome *outcome)
{
	uint64_t memory = cgroup_peak(&bounds->cgroup, CGROUP_MEMORY);
	uint64_t processes = cgroup_peak(&bounds->cgroup, CGROUP_PIDS);

	outcome->memory_kills = cgroup_kills(&bounds->cgroup);
	outcome->memory_peak = memory > 0 ? memory : bounds->memory_peak;
	outcome->processes_peak =
	    processes > 0 ? processes : bounds->processes_peak;
}
