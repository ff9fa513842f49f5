#include "gateway/launch/listeners.h"

#include "gateway/launch/redirect.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <assert.h>
#include <linux/in6.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define BACKLOG 4096
#define DNS_PORT 53

/* An option that is set to 1; the list ends with level 0. */
struct option {
	int level, name;
};

static const struct {
	const char *what;
	struct endpoint at; /* no address: a socket that is not bound */
	int family, type, protocol;
	struct option options[4];
} recipes[] = {
	[HANDOFF_TCP4] = { "the IPv4 listener",
	    { { 4, { 127, 0, 0, 1 } }, REDIRECT_PORT }, AF_INET, SOCK_STREAM, 0,
	    { { IPPROTO_IP, IP_TRANSPARENT } } },
	[HANDOFF_TCP6] = { "the IPv6 listener",
	    { { 16, { [15] = 1 } }, REDIRECT_PORT }, AF_INET6, SOCK_STREAM, 0,
	    { { IPPROTO_IPV6, IPV6_V6ONLY },
		{ IPPROTO_IPV6, IPV6_TRANSPARENT } } },
	[HANDOFF_UDP4] = { "the IPv4 name service", { { 4, { 0 } }, DNS_PORT },
	    AF_INET, SOCK_DGRAM, 0,
	    { { IPPROTO_IP, IP_PKTINFO },
		{ IPPROTO_IP, IP_RECVORIGDSTADDR } } },
	/* Free binding lets an answer leave from any address. */
	[HANDOFF_UDP6] = { "the IPv6 name service", { { 16, { 0 } }, DNS_PORT },
	    AF_INET6, SOCK_DGRAM, 0,
	    { { IPPROTO_IPV6, IPV6_V6ONLY }, { IPPROTO_IPV6, IPV6_RECVPKTINFO },
		{ IPPROTO_IPV6, IPV6_FREEBIND } } },
	[HANDOFF_DIAG] = { "the socket that lists sockets", { { 0 }, 0 },
	    AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG, { { 0, 0 } } },
	[HANDOFF_ANY4] = { "the IPv4 socket for datagrams",
	    { { 4, { 127, 0, 0, 1 } }, REDIRECT_PORT }, AF_INET, SOCK_DGRAM, 0,
	    { { IPPROTO_IP, IP_TRANSPARENT },
		{ IPPROTO_IP, IP_RECVORIGDSTADDR } } },
	[HANDOFF_ANY6] = { "the IPv6 socket for datagrams",
	    { { 16, { [15] = 1 } }, REDIRECT_PORT }, AF_INET6, SOCK_DGRAM, 0,
	    { { IPPROTO_IPV6, IPV6_V6ONLY }, { IPPROTO_IPV6, IPV6_TRANSPARENT },
		{ IPPROTO_IPV6, IPV6_RECVORIGDSTADDR } } },
	/* What is sent has its own header, and so the source it says. */
	[HANDOFF_RAW4] = { "the IPv4 socket for packets", { { 0 }, 0 }, AF_INET,
	    SOCK_RAW, IPPROTO_RAW, { { 0, 0 } } },
	[HANDOFF_RAW6] = { "the IPv6 socket for packets", { { 0 }, 0 },
	    AF_INET6, SOCK_RAW, IPPROTO_RAW, { { 0, 0 } } },
};

static_assert(sizeof(recipes) / sizeof(recipes[0]) == HANDOFF_FD_COUNT,
    "every descriptor of the offer has a recipe");

static int
open_one(size_t index)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = socket(recipes[index].family,
	    recipes[index].type | SOCK_CLOEXEC, recipes[index].protocol);
	struct sockaddr_storage at;
	int one = 1;

	if (fd < 0)
		return -1;
	for (size_t i = 0; recipes[index].options[i].name != 0; i++)
		if (setsockopt(fd, recipes[index].options[i].level,
			recipes[index].options[i].name, &one, sizeof(one)) != 0)
			return -1;
	if (!address_is_set(&recipes[index].at.address))
		return steal_fd(&fd);
	if (bind(fd, (struct sockaddr *)&at,
		endpoint_to_sockaddr(&recipes[index].at, &at)) != 0)
		return -1;
	if (recipes[index].type == SOCK_STREAM && listen(fd, BACKLOG) != 0)
		return -1;
	return steal_fd(&fd);
}

int
listeners_open(struct listeners *ret, struct problem *reterr)
{
	struct listeners listeners;

	for (size_t i = 0; i < HANDOFF_FD_COUNT; i++)
		listeners.fds[i] = -1;
	for (size_t i = 0; i < HANDOFF_FD_COUNT; i++) {
		listeners.fds[i] = open_one(i);
		if (listeners.fds[i] < 0) {
			(void)problem_errno(
			    reterr, "cannot open %s", recipes[i].what);
			listeners_done(&listeners);
			return STATUS_PROBLEM;
		}
	}
	*ret = listeners;
	return STATUS_OK;
}

void
listeners_done(struct listeners *listeners)
{
	for (size_t i = 0; i < HANDOFF_FD_COUNT; i++)
		fd_done(&listeners->fds[i]);
}
