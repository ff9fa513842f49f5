#include "gateway/flow/refuse.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/intercept.h"
#include "schema/cursor.h"

#include <stdio.h>
#include <sys/socket.h>

/* RFC 8446 section 5.1 and 6. */
enum {
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
	RECORD_VERSION = 0x0303,
	ALERT_FATAL = 2
};

/* RFC 4253 sections 6 and 11.1. */
enum {
	SSH_BLOCK = 8, /* a packet is a multiple of it */
	SSH_DISCONNECT = 1,
	SSH_NOT_ALLOWED = 1
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

/* RFC 4253 section 6: what precedes the exchange of keys is clear. */
static void
put_disconnect(struct cursor text, struct cursor_writer *out)
{
	size_t payload = 1 + 4 + 4 + text.left + 4;
	size_t padding = SSH_BLOCK - (4 + 1 + payload) % SSH_BLOCK;

	if (padding < 4)
		padding += SSH_BLOCK;
	cursor_put_u32(out, (uint32_t)(1 + payload + padding));
	cursor_put_u8(out, (uint8_t)padding);
	cursor_put_u8(out, SSH_DISCONNECT);
	cursor_put_u32(out, SSH_NOT_ALLOWED);
	cursor_put_u32(out, (uint32_t)text.left);
	cursor_put(out, text.at, text.left);
	/* In no language that we would name. */
	cursor_put_u32(out, 0);
	while (padding-- > 0)
		cursor_put_u8(out, 0);
}

/*
 * As a server of SSH says it, so that the client prints it; and before that
 * as a line, for who reads no further (RFC 4253 section 4.2).
 */
static void
say_ssh(struct flow *flow)
{
	const struct reason_entry *entry = reason_entry(flow->reason);
	char target[FLOW_TARGET_MAX], line[512];
	unsigned char bytes[2 * sizeof(line)];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	int length;

	flow_print_target(flow, target);
	length =
	    snprintf(line, sizeof(line), "exeat: %s was refused (%s): %s. %s",
		target, entry->id, entry->title, entry->advice);
	if (length <= 0 || (size_t)length >= sizeof(line))
		return;
	cursor_put_text(&out, line);
	cursor_put_text(&out, "\r\nSSH-2.0-exeat\r\n");
	put_disconnect(cursor_of_text(line), &out);
	if (cursor_written(&out))
		say(flow, out.bytes, out.used);
}

/* Also where no more of the hello came than that it is one. */
static bool
has_begun_tls(const struct flow *flow)
{
	return flow->protocol == SNIFF_TLS && flow->early_length > 0 &&
	       flow->early[0] == RECORD_HANDSHAKE;
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
	if (has_begun_tls(flow))
		say_alert(flow);
	else if (flow->sniffed && flow->protocol == SNIFF_SSH)
		say_ssh(flow);
	else
		reset(flow);
	flow_close(flow, flow->reason);
}
