#include "gateway/net/sockdiag.h"

#include "schema/status.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* Answers to earlier questions that nobody read: a few, then it is hopeless. */
#define ANSWERS_PASSED 8

static void
put_end(const struct endpoint *endpoint, __be32 address[4], __be16 *port)
{
	memcpy(address, endpoint->address.bytes, endpoint->address.length);
	*port = htons(endpoint->port);
}

static struct request
make_request(uint32_t sequence, enum sockdiag_transport transport,
    const struct endpoint *from, const struct endpoint *to)
{
	struct request request = {
		.head = { .nlmsg_len = sizeof(request),
		    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		    .nlmsg_flags = NLM_F_REQUEST,

		    .nlmsg_seq = sequence },
		.body = { .sdiag_family =
			      from->address.length == 4 ? AF_INET : AF_INET6,
		    .sdiag_protocol =
			transport == SOCKDIAG_TCP ? IPPROTO_TCP : IPPROTO_UDP,
		    .idiag_states = UINT32_MAX,
		    .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE,
				INET_DIAG_NOCOOKIE } } },
	};
	struct inet_diag_sockid *id = &request.body.id;

	/* UDP is looked up as by a packet that comes in: the other way round.
	 */
	if (transport == SOCKDIAG_TCP) {
		put_end(from, id->idiag_src, &id->idiag_sport);
		put_end(to, id->idiag_dst, &id->idiag_dport);
	} else {
		put_end(to, id->idiag_src, &id->idiag_sport);
		put_end(from, id->idiag_dst, &id->idiag_dport);
	}
	return request;
}

/* The kernel's answer to this sequence, if this packet is one. */
static int
read_answer(const void *bytes, size_t length, uint32_t sequence,
    struct sockdiag_socket *ret)
{
	struct nlmsghdr head;
	struct inet_diag_msg message;

	if (length < sizeof(head))
		return STATUS_SYSTEM;
	memcpy(&head, bytes, sizeof(head));
	if (head.nlmsg_seq != sequence)
		return STATUS_AGAIN;
	if (head.nlmsg_type == NLMSG_ERROR)
		return STATUS_NOT_FOUND;
	if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    length < NLMSG_HDRLEN + sizeof(message))
		return STATUS_SYSTEM;
	memcpy(&message, (const char *)bytes + NLMSG_HDRLEN, sizeof(message));
	*ret = (struct sockdiag_socket){ .inode = message.idiag_inode,
		.uid = message.idiag_uid };
	return STATUS_OK;
}

int
sockdiag_find(struct sockdiag *diag, enum sockdiag_transport transport,
    const struct endpoint *from, const struct endpoint *to,
    struct sockdiag_socket *ret)
{
	struct request request =
	    make_request(++diag->sequence, transport, from, to);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	unsigned char answer[1024];
	int status = STATUS_AGAIN;

	if (from->address.length != to->address.length)
		return STATUS_NOT_FOUND;
	if (sendto(diag->fd, &request, sizeof(request), MSG_DONTWAIT,
		(const struct sockaddr *)&kernel, sizeof(kernel)) < 0)
		return STATUS_SYSTEM;
	for (int i = 0; i < ANSWERS_PASSED && status == STATUS_AGAIN; i++) {
		ssize_t got =
		    recv(diag->fd, answer, sizeof(answer), MSG_DONTWAIT);

		if (got < 0)
			return STATUS_SYSTEM;
		status = read_answer(
		    answer, (size_t)got, request.head.nlmsg_seq, ret);
	}
	return status == STATUS_AGAIN ? STATUS_SYSTEM : status;
}
