#include "gateway/flow/accept.h"

#include "gateway/dns/port53.h"
#include "gateway/flow/aim.h"
#include "gateway/flow/caller.h"
#include "gateway/flow/flow.h"
#include "gateway/flow/machine.h"
#include "gateway/flow/table.h"
#include "gateway/net/listener.h"
#include "gateway/proc/log.h"
#include "schema/problem.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	DNS_PORT = 53,
	LISTENER_COUNT = 2
};

struct accept {
	struct plane *plane;
	struct port53 *port53;
	struct listener *listeners[LISTENER_COUNT];
};

static void
on_room(void *arg)
{
	struct accept *accept = arg;

	for (int i = 0; i < LISTENER_COUNT; i++)
		listener_resume(accept->listeners[i]);
}

static void
pause_at_cap(struct accept *accept)
{
	if (table_has_room(accept->plane->table))
		return;
	for (int i = 0; i < LISTENER_COUNT; i++)
		listener_pause(accept->listeners[i]);
}

static void
on_accept(int fd, const struct endpoint *meant, const struct endpoint *from,
    void *arg)
{
	struct accept *accept = arg;
	struct plane *plane = accept->plane;
	struct flow *flow;

	if (meant->port == DNS_PORT) {
		port53_accept(accept->port53, fd);
		return;
	}
	flow = flow_new(plane, machine_rows(), fd, meant, from);
	if (flow == NULL) {
		log_warning("a connection was dropped: there is no memory");
		return;
	}
	aim_by_address(flow);
	table_add(plane->table, flow);
	pause_at_cap(accept);
	caller_ask(flow);
}

struct accept *
accept_new(struct plane *plane, struct port53 *port53, int tcp4, int tcp6,
    struct problem *reterr)
{
	struct accept *accept = calloc(1, sizeof(*accept));
	int fds[LISTENER_COUNT] = { tcp4, tcp6 };

	if (accept == NULL)
		goto fail;
	accept->plane = plane;
	accept->port53 = port53;
	for (int i = 0; i < LISTENER_COUNT; i++) {
		accept->listeners[i] = listener_new(
		    loop_base(plane->loop), fds[i], on_accept, accept);
		if (accept->listeners[i] == NULL)
			goto fail;
		fds[i] = -1;
	}
	table_watch(plane->table, on_room, accept);
	return accept;
fail:
	(void)problem_errno(reterr, "cannot listen to the sandbox");
	for (int i = 0; i < LISTENER_COUNT; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	accept_free(accept);
	return NULL;
}

void
accept_free(struct accept *accept)
{
	if (accept == NULL)
		return;
	table_watch(accept->plane->table, NULL, NULL);
	for (int i = 0; i < LISTENER_COUNT; i++)
		listener_free(accept->listeners[i]);
	free(accept);
}
