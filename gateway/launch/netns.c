#include "gateway/launch/netns.h"

#include "gateway/launch/netlink.h"
#include "gateway/launch/userns.h"
#include "schema/status.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

#define NETNS_LOOPBACK 1 /* the index of lo in every new namespace */
#define NETNS_NIC 2
#define NETNS_PEER 3

#define CREATE (NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)

static const uint8_t own4[4] = { 192, 0, 0, 2 };
static const uint8_t own6[16] = { 0xfd, 0x65, 0x78, 0x65, 0x61, 0x74, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 2 };

struct address
netns_own4(void)
{
	return address_v4(own4);
}

struct address
netns_own6(void)
{
	return address_v6(own6);
}

static void
put_up(struct netlink *n, int index)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC,
		.ifi_index = index,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP };

	netlink_message(n, RTM_NEWLINK, NLM_F_ACK);
	netlink_header(n, &link, sizeof(link));
	netlink_message_end(n);
}

/* Both ends have chosen indexes, so that no answer must be read for them. */
static void
put_pair(struct netlink *n)
{
	struct ifinfomsg nic = { .ifi_family = AF_UNSPEC,
		.ifi_index = NETNS_NIC };
	struct ifinfomsg peer = { .ifi_family = AF_UNSPEC,
		.ifi_index = NETNS_PEER };
	size_t info, data, other;

	netlink_message(n, RTM_NEWLINK, CREATE);
	netlink_header(n, &nic, sizeof(nic));
	netlink_string(n, IFLA_IFNAME, "eth0");
	info = netlink_open(n, IFLA_LINKINFO);
	netlink_string(n, IFLA_INFO_KIND, "veth");
	data = netlink_open(n, IFLA_INFO_DATA);
	other = netlink_open(n, VETH_INFO_PEER);
	netlink_header(n, &peer, sizeof(peer));
	netlink_string(n, IFLA_IFNAME, "nowhere0");
	netlink_close(n, other);
	netlink_close(n, data);
	netlink_close(n, info);
	netlink_message_end(n);
	put_up(n, NETNS_NIC);
	put_up(n, NETNS_PEER);
}

static void
put_address(struct netlink *n, int index, const struct address *address)
{
	struct ifaddrmsg header = {
		.ifa_family = address->length == 4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = (uint8_t)(address->length * 8),
		.ifa_flags = IFA_F_NODAD | IFA_F_PERMANENT,
		.ifa_index = (uint32_t)index,
	};

	netlink_message(n, RTM_NEWADDR, CREATE);
	netlink_header(n, &header, sizeof(header));
	netlink_attribute(n, IFA_LOCAL, address->bytes, address->length);
	netlink_attribute(n, IFA_ADDRESS, address->bytes, address->length);
	netlink_message_end(n);
}

/* local default dev lo: the kernel takes every address for one of ours. */
static void
put_route(struct netlink *n, const struct address *source)
{
	struct rtmsg header = {
		.rtm_family = source->length == 4 ? AF_INET : AF_INET6,
		.rtm_table = RT_TABLE_MAIN,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope =
		    source->length == 4 ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_LOCAL,
	};
	uint32_t loopback = NETNS_LOOPBACK;

	netlink_message(n, RTM_NEWROUTE, CREATE);
	netlink_header(n, &header, sizeof(header));
	netlink_attribute(n, RTA_OIF, &loopback, sizeof(loopback));
	netlink_attribute(n, RTA_PREFSRC, source->bytes, source->length);
	netlink_message_end(n);
}

int
netns_up(bool nic, struct problem *reterr)
{
	struct address v4 = netns_own4(), v6 = netns_own6();
	int index = nic ? NETNS_NIC : NETNS_LOOPBACK;
	struct netlink n;

	netlink_begin(&n);
	put_up(&n, NETNS_LOOPBACK);
	if (netlink_talk(&n, NETLINK_ROUTE) != STATUS_OK) {
		int error = errno;

		(void)problem_errno(reterr, "cannot set lo up");
		/* The first act that needs a capability of the namespace. */
		return error == EPERM ? userns_cure(reterr) : STATUS_PROBLEM;
	}
	netlink_begin(&n);
	if (nic)
		put_pair(&n);
	put_address(&n, index, &v4);
	put_address(&n, index, &v6);
	put_route(&n, &v4);
	put_route(&n, &v6);
	if (netlink_talk(&n, NETLINK_ROUTE) == STATUS_OK)
		return STATUS_OK;
	(void)problem_errno(
	    reterr, "cannot lay the sandbox's links and routes");
	return problem_cure(reterr, "the kernel must have IPv4, IPv6 and veth");
}
