#include "gateway/cli/sibling.h"

#include "schema/status.h"

#include <event2/event.h>
#include <signal.h>

void
sibling_init(struct sibling *sibling)
{
	*sibling = (struct sibling){ .spawned = { .pid = -1, .pidfd = -1 } };
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct sibling *sibling = arg;

	(void)fd;
	(void)what;
	if (!spawn_reap(&sibling->spawned, &sibling->status))
		return;
	sibling->runs = false;
	(void)event_del(sibling->ended);
	sibling->on_ended(sibling->arg);
}

int
sibling_start(struct sibling *sibling, struct loop *loop,
    const struct spawn *spawn, struct problem *reterr)
{
	int status = spawn_start(spawn, &sibling->spawned, reterr);

	if (status != STATUS_OK)
		return status;
	sibling->ended = event_new(loop_base(loop), sibling->spawned.pidfd,
	    EV_READ | EV_PERSIST, on_readable, sibling);
	sibling->runs =
	    sibling->ended != NULL && event_add(sibling->ended, NULL) == 0;
	if (sibling->runs)
		return STATUS_OK;
	/* One whose end nobody would see must not stay. */
	(void)!spawn_kill(&sibling->spawned, SIGKILL);
	(void)!spawn_wait(&sibling->spawned, -1, &sibling->status);
	return problem_set(reterr, "there is no memory for a process");
}

void
sibling_signal(const struct sibling *sibling, int number)
{
	/* It may have ended by itself meanwhile. */
	if (sibling->runs)
		(void)!spawn_kill(&sibling->spawned, number);
}

void
sibling_done(struct sibling *sibling)
{
	if (sibling->ended != NULL)
		event_free(sibling->ended);
	spawned_done(&sibling->spawned);
	sibling_init(sibling);
}
