#include "gateway/flow/forge.h"

#include "gateway/proto/packet.h"
#include "schema/address.h"
#include "schema/status.h"

#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

void
forge_done(struct forge *forge)
{
	if (forge->raw4 >= 0)
		(void)close(forge->raw4);
	if (forge->raw6 >= 0)
		(void)close(forge->raw6);
	forge->raw4 = -1;
	forge->raw6 = -1;
}

/* The port is in the packet; here it would be a protocol's number. */
static void
send_packet(const struct forge *forge, const struct endpoint *to,
    struct cursor head, struct cursor payload)
{
	struct endpoint host = { .address = to->address };
	struct sockaddr_storage at;
	struct iovec parts[2] = {
		{ unconst(head.at), head.left },
		{ unconst(payload.at), payload.left },
	};
	struct msghdr message = { .msg_name = &at,
		.msg_namelen = endpoint_to_sockaddr(&host, &at),
		.msg_iov = parts,
		.msg_iovlen = 2 };

	(void)!sendmsg(to->address.length == 4 ? forge->raw4 : forge->raw6,
	    &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void
forge_answer(const struct forge *forge, struct cursor bytes,
    const struct endpoint *from, const struct endpoint *to)
{
	unsigned char head[PACKET_HEAD];
	struct cursor_writer out = cursor_writer_of(head, sizeof(head));

	if (packet_write_head(from, to, bytes, &out) == STATUS_OK)
		send_packet(forge, to, cursor_of(out.bytes, out.used), bytes);
}

void
forge_refuse(const struct forge *forge, const struct endpoint *from,
    const struct endpoint *to, size_t length)
{
	unsigned char packet[PACKET_REFUSAL];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));

	if (packet_write_refusal(from, to, length, &out) == STATUS_OK)
		send_packet(forge, from, cursor_of(out.bytes, out.used),
		    cursor_of(NULL, 0));
}
