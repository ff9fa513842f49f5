#include "gateway/flow/detour.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/grants.h"
#include "gateway/net/dial.h"
#include "gateway/net/resolve.h"
#include "gateway/net/via.h"
#include "gateway/proc/loop.h"
#include "policy/stack.h"
#include "schema/order.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct detour {
	struct flow *flow;
	detour_call *on_done;
	void *arg;
	struct event *turn; /* so that nobody is called before we returned */
	struct resolve *resolve;
	struct dial *dial;
	struct grants_loan loan;
	struct via *via;
	int fd; /* to the proxy */
};

/* ---- when ---- */

int
detour_proxy_of(const struct order_via *via, struct detour_proxy *ret)
{
	size_t length = strlen(via->host);
	struct detour_proxy proxy = { .port = via->port };

	if (address_parse(via->host, length, &proxy.literal) != STATUS_OK &&
	    hostname_parse(via->host, length, &proxy.name) != STATUS_OK)
		return STATUS_MALFORMED;
	memcpy(proxy.host, via->host, length + 1);
	memcpy(proxy.credential, via->credential, sizeof(proxy.credential));
	*ret = proxy;
	return STATUS_OK;
}

bool
detour_is_due(const struct flow *flow, const struct stack_settings *settings)
{
	if (flow->plane->house == NULL)
		return false;
	if (!flow->by_name)
		return address_kind(&flow->wanted.address) == ADDRESS_PUBLIC;
	return settings->resolve == NULL && !settings->private_addresses;
}

/* ---- the end ---- */

static void
release(struct detour *detour)
{
	event_free(detour->turn);
	resolve_cancel(detour->resolve);
	dial_cancel(detour->dial);
	grants_return(&detour->loan);
	via_cancel(detour->via);
	if (detour->fd >= 0)
		(void)close(detour->fd);
	free(detour);
}

void
detour_cancel(struct detour *detour)
{
	if (detour != NULL)
		release(detour);
}

/* The one way out: releases, then tells. */
static void
finish(struct detour *detour, enum reason reason, const char *cause)
{
	detour_call *on_done = detour->on_done;
	void *arg = detour->arg;
	struct detour_result result = {
		.reason = reason, .fd = -1, .cause = cause
	};

	if (reason == REASON_NONE)
		result.fd = steal_fd(&detour->fd);
	release(detour);
	on_done(&result, arg);
}

/* ---- CONNECT ---- */

static void
on_through(enum reason reason, const char *cause, void *arg)
{
	struct detour *detour = arg;

	detour->via = NULL;
	finish(detour, reason, cause);
}

/* What the proxy is told: the host that was judged, and the port. */
static struct cursor
write_target(const struct flow *flow, char *room, size_t size)
{
	char literal[ENDPOINT_TEXT_MAX];
	int length;

	endpoint_print(&flow->wanted, literal);
	if (flow->by_name)
		length = snprintf(room, size, "%s:%u", flow->host.text,
		    (unsigned)flow->wanted.port);
	else
		length = snprintf(room, size, "%s", literal);
	if (length < 0 || (size_t)length >= size)
		return cursor_of(NULL, 0);
	return cursor_of(room, (size_t)length);
}

static void
ask_proxy(struct detour *detour, struct cursor login)
{
	char room[LIMIT_HOST + sizeof(":65535")];
	struct via_order order = { .fd = detour->fd, .login = login };

	order.target = write_target(detour->flow, room, sizeof(room));
	detour->via = via_start(
	    loop_base(detour->flow->plane->loop), &order, on_through, detour);
	/* It has a copy of its own. */
	grants_return(&detour->loan);
	if (detour->via == NULL)
		finish(detour, REASON_OVERLOAD, "");
}

/* ---- the login ---- */

/* It is lent for this moment only, so that nobody can revoke it under us. */
static void
use_login(struct detour *detour)
{
	const struct grant *grant = grants_lent_grant(&detour->loan);
	const struct grant_field *field = &grant->fields[0];

	if (grant->count != 1 || field->place != GRANT_HEADER ||
	    strcasecmp(field->name, "authorization") != 0) {
		finish(detour, REASON_CREDENTIAL_UNAVAILABLE,
		    "the proxy's credential is no login: it wants the kind "
		    "\"basic\" or \"bearer\"");
		return;
	}
	ask_proxy(detour, secret_bytes(field->value));
}

static void
on_lent(struct grants_loan *loan, const char *why)
{
	struct detour *detour =
	    (struct detour *)((char *)loan - offsetof(struct detour, loan));

	if (why == NULL)
		use_login(detour);
	else
		finish(detour, REASON_CREDENTIAL_UNAVAILABLE, why);
}

static void
log_in(struct detour *detour)
{
	const struct detour_proxy *proxy = detour->flow->plane->house;
	struct grants *grants = detour->flow->plane->grants;
	struct grant_question *question = &detour->loan.question;

	if (proxy->credential[0] == '\0') {
		ask_proxy(detour, cursor_of(NULL, 0));
		return;
	}
	detour->loan.on_lent = on_lent;
	question->port = proxy->port;
	memcpy(question->credential, proxy->credential,
	    sizeof(question->credential));
	memcpy(question->host, proxy->host, sizeof(question->host));
	switch (grants == NULL ? STATUS_CLOSED
			       : grants_borrow(grants, &detour->loan)) {
	case STATUS_OK:
		use_login(detour);
		break;
	case STATUS_AGAIN:
		break;
	default:
		finish(detour, REASON_CREDENTIAL_UNAVAILABLE,
		    "the broker cannot be asked for the proxy's");
		break;
	}
}

/* ---- the connection to it ---- */

static void
on_dialed(const struct dial_result *dialed, void *arg)
{
	struct detour *detour = arg;
	char cause[128];
	const char *words = strerrordesc_np(dialed->error);

	detour->dial = NULL;
	detour->fd = dialed->fd;
	if (dialed->reason == REASON_NONE) {
		log_in(detour);
		return;
	}
	if (dialed->error == 0 || words == NULL)
		words = "it cannot be dialled";
	if (snprintf(cause, sizeof(cause), "the proxy between: %s", words) < 0)
		cause[0] = '\0';
	/* Its address is not the program's, and nothing that it did wrong. */
	finish(detour,
	    dialed->reason == REASON_SPECIAL_ADDRESS ? REASON_UPSTREAM_REFUSED
						     : dialed->reason,
	    cause);
}

static bool
may_dial(const struct address *address, void *arg)
{
	(void)address;
	(void)arg;
	return true;
}

static void
dial_list(struct detour *detour, const struct address *list, size_t count)
{
	const struct plane *plane = detour->flow->plane;
	struct dial_order order = { .list = list,
		.count = count,
		.port = plane->house->port,
		.may_dial = may_dial };

	detour->dial =
	    dial_start(loop_base(plane->loop), &order, on_dialed, detour);
	if (detour->dial == NULL)
		finish(detour, REASON_OVERLOAD, "");
}

static void
on_resolved(const struct address *list, size_t count, int status, void *arg)
{
	struct detour *detour = arg;

	detour->resolve = NULL;
	if (status == STATUS_OK)
		dial_list(detour, list, count);
	else
		finish(detour,
		    status == STATUS_TIMEOUT ? REASON_UPSTREAM_TIMEOUT
					     : REASON_UPSTREAM_UNRESOLVED,
		    "the name of the proxy between does not resolve");
}

static void
on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct detour *detour = arg;
	const struct plane *plane = detour->flow->plane;
	const struct detour_proxy *proxy = plane->house;
	struct address list[LIMIT_ADDRESSES];
	size_t count;

	(void)fd;
	(void)what;
	if (address_is_set(&proxy->literal)) {
		dial_list(detour, &proxy->literal, 1);
		return;
	}
	if (resolver_knows(plane->resolver, &proxy->name, list, &count)) {
		dial_list(detour, list, count);
		return;
	}
	detour->resolve =
	    resolve_start(plane->resolver, &proxy->name, on_resolved, detour);
	if (detour->resolve == NULL)
		finish(detour, REASON_OVERLOAD, "");
}

struct detour *
detour_start(struct flow *flow, detour_call *on_done, void *arg)
{
	struct detour *detour = calloc(1, sizeof(*detour));

	if (detour == NULL)
		return NULL;
	detour->flow = flow;
	detour->on_done = on_done;
	detour->arg = arg;
	detour->fd = -1;
	detour->turn =
	    event_new(loop_base(flow->plane->loop), -1, 0, on_turn, detour);
	if (detour->turn == NULL) {
		free(detour);
		return NULL;
	}
	event_active(detour->turn, EV_TIMEOUT, 0);
	return detour;
}
