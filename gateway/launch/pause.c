#include "gateway/launch/pause.h"

#include "gateway/launch/cgroup.h"
#include "gateway/launch/report.h"
#include "gateway/launch/usage.h"
#include "schema/status.h"

int
pause_ask(const struct pause *pause, bool paused)
{
	struct report report = { .kind = REPORT_PAUSE,
		.stage = STAGE_COMMAND,
		.value = paused ? 1 : 0 };

	if (cgroup_has(pause->cgroup, CGROUP_FREEZER))
		return cgroup_freeze(pause->cgroup, paused);
	return report_send(pause->control, &report, NULL);
}

bool
pause_is_done(const struct pause *pause)
{
	struct usage usage;

	if (cgroup_has(pause->cgroup, CGROUP_FREEZER))
		return cgroup_is_frozen(pause->cgroup);
	return usage_sample(pause->proc, &usage) == STATUS_OK &&
	       usage.stopped == usage.processes;
}
