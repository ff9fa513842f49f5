#include "gateway/net/datagram.h"

#include "schema/address.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* More in one call gained nothing: the kernel's work is in each message. */
#define BATCH 16

/* Room for either family's packet information and original destination. */
#define CONTROL_SIZE                              \
	(CMSG_SPACE(sizeof(struct in6_pktinfo)) + \
	    CMSG_SPACE(sizeof(struct sockaddr_in6)))

/* A message in the shape the kernel wants it, with its parts. */
struct parcel {
	struct sockaddr_storage peer;
	_Alignas(struct cmsghdr) unsigned char control[CONTROL_SIZE];
	struct iovec part;
};

struct datagram {
	int fd, family;
	size_t size; /* of the longest message */
	struct event *readable;
	datagram_call *on_message;
	void *arg;
	bool receiving; /* answers are gathered until the batch is through */
	unsigned waiting; /* answers gathered */
	struct mmsghdr in_heads[BATCH], out_heads[BATCH];
	struct parcel in[BATCH], out[BATCH];
	unsigned char *in_bytes; /* size for each of a batch */
	unsigned char out_bytes[BATCH][LIMIT_DNS_MESSAGE];
};

static int
datagram_set(int fd, int level, int option)
{
	int one = 1;

	return setsockopt(fd, level, option, &one, sizeof(one));
}

/* Learns what the socket is, and has it tell where messages were meant to go.
 */
static int
datagram_prepare(int fd, int *ret_family)
{
	struct sockaddr_storage own = { 0 };
	socklen_t length = sizeof(own);
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return STATUS_SYSTEM;
	if (getsockname(fd, (struct sockaddr *)&own, &length) < 0)
		return STATUS_SYSTEM;
	if (own.ss_family == AF_INET &&
	    datagram_set(fd, IPPROTO_IP, IP_RECVORIGDSTADDR) < 0)
		return STATUS_SYSTEM;
	if (own.ss_family == AF_INET6 &&
	    datagram_set(fd, IPPROTO_IPV6, IPV6_RECVORIGDSTADDR) < 0)
		return STATUS_SYSTEM;
	*ret_family = own.ss_family;
	return STATUS_OK;
}

static bool
is_original(const struct cmsghdr *at)
{
	return (at->cmsg_level == IPPROTO_IP &&
		   at->cmsg_type == IP_ORIGDSTADDR) ||
	       (at->cmsg_level == IPPROTO_IPV6 &&
		   at->cmsg_type == IPV6_ORIGDSTADDR);
}

/* Where a message was meant to go; false when the kernel did not say. */
static bool
datagram_meant(struct msghdr *head, struct endpoint *ret)
{
	struct sockaddr_storage own;
	struct cmsghdr *at;

	for (at = CMSG_FIRSTHDR(head); at != NULL; at = CMSG_NXTHDR(head, at)) {
		if (!is_original(at))
			continue;
		memset(&own, 0, sizeof(own));
		memcpy(&own, CMSG_DATA(at),
		    at->cmsg_level == IPPROTO_IP ? sizeof(struct sockaddr_in)
						 : sizeof(struct sockaddr_in6));
		return endpoint_from_sockaddr(
			   (const struct sockaddr *)&own, ret) == STATUS_OK;
	}
	return false;
}

static void
datagram_hand_on(struct datagram *datagram, unsigned which)
{
	struct mmsghdr *head = &datagram->in_heads[which];
	struct parcel *parcel = &datagram->in[which];
	struct endpoint from, meant;

	if ((head->msg_hdr.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return;
	if (endpoint_from_sockaddr((struct sockaddr *)&parcel->peer, &from) !=
	    STATUS_OK)
		return;
	if (!datagram_meant(&head->msg_hdr, &meant))
		return;
	datagram->on_message(cursor_of(parcel->part.iov_base, head->msg_len),
	    &from, &meant, datagram->arg);
}

/* What the kernel does not take is lost, like any datagram on a full line. */
static void
datagram_send(struct datagram *datagram)
{
	unsigned sent = 0;

	while (sent < datagram->waiting) {
		int count = sendmmsg(datagram->fd, datagram->out_heads + sent,
		    datagram->waiting - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		/* The first of them failed: the others may be well. */
		sent += count > 0 ? (unsigned)count : 1;
	}
	datagram->waiting = 0;
}

static void
datagram_ready_to_receive(struct datagram *datagram)
{
	for (unsigned i = 0; i < BATCH; i++) {
		struct msghdr *head = &datagram->in_heads[i].msg_hdr;
		struct parcel *parcel = &datagram->in[i];

		parcel->part.iov_base = datagram->in_bytes + i * datagram->size;
		parcel->part.iov_len = datagram->size;
		head->msg_iov = &parcel->part;
		head->msg_iovlen = 1;
		head->msg_name = &parcel->peer;
		head->msg_namelen = sizeof(parcel->peer);
		head->msg_control = parcel->control;
		head->msg_controllen = sizeof(parcel->control);
		head->msg_flags = 0;
	}
}

/* One batch a tick: what is left makes the socket readable again. */
static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct datagram *datagram = arg;
	int count;

	(void)what;
	datagram_ready_to_receive(datagram);
	/* An error is that of an earlier answer (ICMP), and is passed over. */
	count = recvmmsg(fd, datagram->in_heads, BATCH, MSG_DONTWAIT, NULL);
	datagram->receiving = true;
	for (int i = 0; i < count; i++)
		datagram_hand_on(datagram, (unsigned)i);
	datagram->receiving = false;
	datagram_send(datagram);
}

struct datagram *
datagram_new(struct event_base *base, int fd, size_t size,
    datagram_call *on_message, void *arg)
{
	struct datagram *datagram;
	int family;

	if (datagram_prepare(fd, &family) != STATUS_OK)
		return NULL;
	datagram = calloc(1, sizeof(*datagram));
	if (datagram == NULL)
		return NULL;
	datagram->fd = -1;
	datagram->family = family;
	datagram->size = size;
	datagram->in_bytes = calloc(BATCH, size);
	datagram->on_message = on_message;
	datagram->arg = arg;
	datagram->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, on_readable, datagram);
	if (datagram->in_bytes == NULL || datagram->readable == NULL ||
	    event_add(datagram->readable, NULL) < 0) {
		datagram_free(datagram);
		return NULL;
	}
	datagram->fd = fd;
	return datagram;
}

void
datagram_free(struct datagram *datagram)
{
	if (datagram == NULL)
		return;
	if (datagram->readable != NULL)
		event_free(datagram->readable);
	if (datagram->fd >= 0)
		(void)close(datagram->fd);
	free(datagram->in_bytes);
	free(datagram);
}

/* Has the answer leave from the address that was asked. */
static void
datagram_put_source(
    struct msghdr *head, unsigned char *control, const struct address *as)
{
	struct in_pktinfo info4 = { 0 };
	struct in6_pktinfo info6 = { 0 };
	bool v4 = as->length == sizeof(info4.ipi_spec_dst);
	size_t size = v4 ? sizeof(info4) : sizeof(info6);
	struct cmsghdr *at;

	memset(control, 0, CONTROL_SIZE);
	head->msg_control = control;
	head->msg_controllen = CMSG_SPACE(size);
	at = CMSG_FIRSTHDR(head);
	at->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	at->cmsg_type = v4 ? IP_PKTINFO : IPV6_PKTINFO;
	at->cmsg_len = CMSG_LEN(size);
	memcpy(&info4.ipi_spec_dst, as->bytes, sizeof(info4.ipi_spec_dst));
	memcpy(&info6.ipi6_addr, as->bytes, sizeof(info6.ipi6_addr));
	memcpy(CMSG_DATA(at), v4 ? (const void *)&info4 : (const void *)&info6,
	    size);
}

int
datagram_answer(struct datagram *datagram, struct cursor bytes,
    const struct endpoint *to, const struct endpoint *as)
{
	size_t wanted = datagram->family == AF_INET ? 4 : 16;
	struct parcel *parcel;
	struct msghdr *head;

	if (bytes.left > LIMIT_DNS_MESSAGE)
		return STATUS_TOO_LONG;
	if (to->address.length != wanted || as->address.length != wanted)
		return STATUS_REFUSED;
	if (datagram->waiting == BATCH)
		datagram_send(datagram);
	parcel = &datagram->out[datagram->waiting];
	head = &datagram->out_heads[datagram->waiting].msg_hdr;
	parcel->part.iov_base = datagram->out_bytes[datagram->waiting];
	parcel->part.iov_len = bytes.left;
	memcpy(parcel->part.iov_base, bytes.at, bytes.left);
	head->msg_iov = &parcel->part;
	head->msg_iovlen = 1;
	head->msg_name = &parcel->peer;
	head->msg_namelen = endpoint_to_sockaddr(to, &parcel->peer);
	datagram_put_source(head, parcel->control, &as->address);
	datagram->waiting++;
	if (!datagram->receiving)
		datagram_send(datagram);
	return STATUS_OK;
}
