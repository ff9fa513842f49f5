#include "gateway/flow/refuse.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/intercept.h"
#include "schema/cursor.h"

#include <stdio.h>
#include <sys/socket.h>

/* RFC 8446 section 5.1 and 6. */
enum {
	RECORD_ALERT = 21,
	RECORD_VERSION = 0x0303,
	ALERT_FATAL = 2
};

/* The socket was empty a moment ago: what does not fit now is not owed. */
static void
say(struct flow *flow, const void *bytes, size_t length)
{
	(void)!send(flow->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(flow->fd, SHUT_WR);
}

/* A reset instead of an end: nothing was agreed to. */
static void
reset(struct flow *flow)
{
	static const struct linger now = { .l_onoff = 1 };

	(void)setsockopt(flow->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void
say_alert(struct flow *flow)
{
	unsigned char bytes[7];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	cursor_put_u8(&out, RECORD_ALERT);
	cursor_put_u16(&out, RECORD_VERSION);
	cursor_put_u16(&out, 2);
	cursor_put_u8(&out, ALERT_FATAL);
	cursor_put_u8(&out, reason_entry(flow->reason)->tls_alert);
	say(flow, bytes, sizeof(bytes));
}

/* RFC 4253 section 4.2: lines may stand before the server's version. */
static void
say_line(struct flow *flow)
{
	const struct reason_entry *entry = reason_entry(flow->reason);
	char target[FLOW_TARGET_MAX], line[512];
	int length;

	flow_print_target(flow, target);
	length = snprintf(line, sizeof(line),
	    "exeat: %s was refused (%s): %s. %s\r\n", target, entry->id,
	    entry->title, entry->advice);
	if (length > 0 && (size_t)length < sizeof(line))
		say(flow, line, (size_t)length);
}

void
refuse_enter(struct flow *flow)
{
	if (flow->sniffed && flow_is_clear_http(flow)) {
		flow_enter(flow, FLOW_EXCHANGING);
		return;
	}
	if (intercept_is_possible(flow)) {
		flow_enter(flow, FLOW_INTERCEPTING);
		return;
	}
	if (flow->protocol == SNIFF_TLS && flow->early_length > 0)
		say_alert(flow);
	else if (flow->sniffed && flow->protocol == SNIFF_SSH)
		say_line(flow);
	else
		reset(flow);
	flow_close(flow, flow->reason);
}
