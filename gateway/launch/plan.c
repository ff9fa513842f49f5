#include "gateway/launch/plan.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void
plan_done(struct plan *plan)
{
	if (plan == NULL)
		return;
	free(plan->command);
	free(plan->env);
	free(plan->mounts);
	free(plan->scratch);
	free(plan->folders);
	free(plan->mask.list);
	free(plan->show.list);
	json_decref(plan->document);
	memset(plan, 0, sizeof(*plan));
}
