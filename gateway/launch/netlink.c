#include "gateway/launch/netlink.h"

#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

void
netlink_begin(struct netlink *n)
{
	memset(n, 0, sizeof(*n));
}

static void
put(struct netlink *n, const void *bytes, size_t length)
{
	size_t padded = NLMSG_ALIGN(length);

	if (sizeof(n->bytes) - n->used < padded) {
		n->overflow = true;
		return;
	}
	if (length > 0)
		memcpy(n->bytes + n->used, bytes, length);
	n->used += padded;
}

void
netlink_message(struct netlink *n, uint16_t type, uint16_t flags)
{
	struct nlmsghdr header = { .nlmsg_type = type,
		.nlmsg_flags = (uint16_t)(flags | NLM_F_REQUEST),
		.nlmsg_seq = ++n->sequence };

	n->message = n->used;
	n->acks += (flags & NLM_F_ACK) != 0;
	put(n, &header, sizeof(header));
}

void
netlink_message_end(struct netlink *n)
{
	uint32_t length = (uint32_t)(n->used - n->message);

	if (!n->overflow)
		memcpy(n->bytes + n->message +
			   offsetof(struct nlmsghdr, nlmsg_len),
		    &length, sizeof(length));
}

void
netlink_header(struct netlink *n, const void *header, size_t length)
{
	put(n, header, length);
}

void
netlink_attribute(
    struct netlink *n, uint16_t type, const void *value, size_t length)
{
	struct nlattr header = { .nla_type = type,
		.nla_len = (uint16_t)(sizeof(header) + length) };

	put(n, &header, sizeof(header));
	put(n, value, length);
}

void
netlink_string(struct netlink *n, uint16_t type, const char *text)
{
	netlink_attribute(n, type, text, strlen(text) + 1);
}

void
netlink_be32(struct netlink *n, uint16_t type, uint32_t value)
{
	uint32_t wire = htonl(value);

	netlink_attribute(n, type, &wire, sizeof(wire));
}

size_t
netlink_open(struct netlink *n, uint16_t type)
{
	size_t place = n->used;

	netlink_attribute(n, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
	return place;
}

void
netlink_close(struct netlink *n, size_t place)
{
	uint16_t length = (uint16_t)(n->used - place);

	if (!n->overflow)
		memcpy(n->bytes + place, &length, sizeof(length));
}

/* The error in one answer: 0 is a plain acknowledgement. */
static int
take_answer(const unsigned char *bytes, size_t length, uint32_t *ret_acks)
{
	struct nlmsghdr header;
	int error;

	while (length >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		if (header.nlmsg_len < sizeof(header) ||
		    header.nlmsg_len > length)
			return EBADMSG;
		if (header.nlmsg_type == NLMSG_ERROR) {
			if (header.nlmsg_len < sizeof(header) + sizeof(error))
				return EBADMSG;
			memcpy(&error, bytes + sizeof(header), sizeof(error));
			if (error != 0)
				return -error;
			(*ret_acks)++;
		}
		if (NLMSG_ALIGN(header.nlmsg_len) >= length)
			return 0;
		bytes += NLMSG_ALIGN(header.nlmsg_len);
		length -= NLMSG_ALIGN(header.nlmsg_len);
	}
	return 0;
}

int
netlink_talk(struct netlink *n, int protocol)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	unsigned char answer[NETLINK_BYTES];
	uint32_t acks = 0;

	if (n->overflow)
		return STATUS_TOO_LONG;
	if (fd < 0 || send(fd, n->bytes, n->used, 0) < 0)
		return STATUS_SYSTEM;
	while (acks < n->acks) {
		ssize_t got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
		int error =
		    got < 0 ? errno : take_answer(answer, (size_t)got, &acks);

		if (error != 0) {
			errno = error;
			return STATUS_SYSTEM;
		}
	}
	return STATUS_OK;
}

bool
netlink_next(
    struct cursor *attributes, uint16_t *ret_type, struct cursor *ret_value)
{
	struct cursor rest = *attributes, value;
	struct nlattr header;
	size_t padding;

	if (!cursor_copy(&rest, sizeof(header), &header) ||
	    header.nla_len < sizeof(header) ||
	    !cursor_take(&rest, header.nla_len - sizeof(header), &value))
		return false;
	padding = (size_t)NLA_ALIGN(header.nla_len) - header.nla_len;
	/* The last one may go without. */
	if (!cursor_skip(&rest, padding))
		rest.left = 0;
	*attributes = rest;
	*ret_type = header.nla_type & (uint16_t)NLA_TYPE_MASK;
	*ret_value = value;
	return true;
}

/* Gives the messages of one packet; true when it has the last. */
static bool
hear_packet(
    struct cursor packet, uint16_t type, netlink_heard *on_message, void *arg)
{
	struct nlmsghdr header;
	struct cursor body;

	while (cursor_copy(&packet, sizeof(header), &header)) {
		if (header.nlmsg_type == NLMSG_DONE ||
		    header.nlmsg_type == NLMSG_ERROR ||
		    header.nlmsg_len < sizeof(header) ||
		    !cursor_take(
			&packet, header.nlmsg_len - sizeof(header), &body))
			return true;
		if (header.nlmsg_type == type)
			on_message(body, arg);
		if (!cursor_skip(&packet, NLMSG_ALIGN(header.nlmsg_len) -
					      (size_t)header.nlmsg_len))
			return false;
	}
	return false;
}

int
netlink_dump(struct netlink *n, int fd, uint16_t type,
    netlink_heard *on_message, void *arg)
{
	unsigned char answer[4 * NETLINK_BYTES];
	bool over = false;

	if (n->overflow)
		return STATUS_TOO_LONG;
	if (send(fd, n->bytes, n->used, 0) < 0)
		return STATUS_SYSTEM;
	while (!over) {
		ssize_t got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);

		if (got <= 0)
			return STATUS_SYSTEM;
		over = hear_packet(
		    cursor_of(answer, (size_t)got), type, on_message, arg);
	}
	return STATUS_OK;
}
