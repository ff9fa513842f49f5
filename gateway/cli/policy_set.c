#include "gateway/cli/policy_set.h"

#include "gateway/cli/abspath.h"
#include "gateway/cli/command.h"
#include "gateway/cli/policies.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/visit.h"
#include "schema/order.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the sandbox can write: its workspace and writable mounts. */
struct places {
	char *list[LIMIT_MOUNTS + 1];
	size_t count;
	bool whole; /* every one was understood */
};

static void
places_done(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->list[i]);
	places->count = 0;
}

static void
on_place(const struct frame *frame, void *arg)
{
	struct places *places = arg;
	char path[ABSPATH_MAX];
	struct cursor body = frame->body;
	char *copy = NULL;

	if (frame->type == FRAME_DESK_PLACE &&
	    places->count < LIMIT_MOUNTS + 1 &&
	    cursor_string(&body, path, sizeof(path)) && cursor_is_empty(&body))
		copy = strdup(path);
	if (copy == NULL)
		places->whole = false;
	else
		places->list[places->count++] = copy;
}

static int
ask_places(
    const struct visit *visit, struct places *ret, struct problem *reterr)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_PLACES, packet, sizeof(packet));
	int status;

	*ret = (struct places){ .whole = true };
	status = visit_ask(visit, &out, on_place, ret, reterr);
	if (status == STATUS_OK && !ret->whole)
		status = problem_set(
		    reterr, "the run does not say what its sandbox can write");
	return status;
}

static bool
is_writable(const char *path, const void *arg)
{
	const struct places *places = arg;

	for (size_t i = 0; i < places->count; i++)
		if (abspath_is_within(path, places->list[i]))
			return true;
	return false;
}

static int
hand_in(const struct visit *visit, const struct policies *policies,
    struct problem *reterr)
{
	unsigned char packet[LIMIT_RULE_TEXT + 256];
	struct cursor_writer out;

	for (size_t i = 0; i < policies->count; i++) {
		const struct policies_layer *layer = &policies->layers[i];
		struct order_layer order = { .name = "" };
		int status;

		out = frame_begin(FRAME_DESK_LAYER, packet, sizeof(packet));
		memcpy(order.name, layer->name, sizeof(order.name));
		memcpy(order.sha256, layer->sha256, sizeof(order.sha256));
		order_layer_write(&order, &out);
		status = visit_send(visit, &out, layer->fd, reterr);
		if (status != STATUS_OK)
			return status;
	}
	out = frame_begin(FRAME_DESK_SWAP, packet, sizeof(packet));
	return visit_ask(visit, &out, NULL, NULL, reterr);
}

static void
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat policy set: %s%s%s\n", problem->text,
	    problem->cure[0] == '\0' ? "" : "; ", problem->cure);
}

/* All that is wrong with the files, or what became of them. */
static int
read_and_hand_in(const struct visit *visit, char *const *files, size_t count,
    const struct places *places)
{
	struct problems problems = { .list = NULL };
	struct problem problem = { .text = "" };
	struct policies policies;
	int status;

	if (policies_read(&policies, files, count, is_writable, places,
		&problems) != STATUS_OK) {
		for (size_t i = 0; i < problems.count; i++)
			complain(&problems.list[i]);
		problems_done(&problems);
		return COMMAND_NO;
	}
	problems_done(&problems);
	status = hand_in(visit, &policies, &problem);
	policies_done(&policies);
	if (status == STATUS_OK)
		return COMMAND_OK;
	complain(&problem);
	return COMMAND_NO;
}

int
policy_set(const char *run, char *const *files, size_t count)
{
	struct settings settings;
	struct visit visit = { .fd = -1 };
	struct places places = { .count = 0 };
	struct problem problem = { .text = "" };
	int code = COMMAND_NO, status = settings_read(&settings, &problem);

	if (status == STATUS_OK)
		status = visit_open(&visit, &settings, run, &problem);
	if (status == STATUS_OK)
		status = ask_places(&visit, &places, &problem);
	if (status == STATUS_OK)
		code = read_and_hand_in(&visit, files, count, &places);
	else
		complain(&problem);
	places_done(&places);
	visit_done(&visit);
	if (code == COMMAND_OK)
		(void)printf("%s: the new policy is in force\n", run);
	return code;
}
