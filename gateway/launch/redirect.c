#include "gateway/launch/redirect.h"

#include "gateway/launch/netlink.h"
#include "gateway/launch/netns.h"
#include "schema/status.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define TABLE "exeat"
#define CATCH "catch"
#define REFUSE "refuse"

/* Before the routing decision for the answer, after raw. */
#define CATCH_PRIORITY (-150)

/* Where the destination stands in the two headers. */
#define IPV4_DESTINATION 16
#define IPV6_DESTINATION 24
#define UDP_DESTINATION 2

#define DNS_PORT 53

static void
begin_message(struct netlink *n, uint8_t message, uint16_t flags)
{
	struct nfgenmsg family = { .nfgen_family = NFPROTO_INET };

	netlink_message(n, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | message),
	    (uint16_t)(flags | NLM_F_CREATE | NLM_F_ACK));
	netlink_header(n, &family, sizeof(family));
}

static void
put_batch(struct netlink *n, uint16_t type)
{
	struct nfgenmsg family = { .nfgen_family = AF_UNSPEC,
		.res_id = htons(NFNL_SUBSYS_NFTABLES) };

	netlink_message(n, type, 0);
	netlink_header(n, &family, sizeof(family));
	netlink_message_end(n);
}

static void
put_table(struct netlink *n)
{
	begin_message(n, NFT_MSG_NEWTABLE, NLM_F_EXCL);
	netlink_string(n, NFTA_TABLE_NAME, TABLE);
	netlink_message_end(n);
}

static void
put_chain(struct netlink *n, const char *name, uint32_t hook, int priority)
{
	size_t place;

	begin_message(n, NFT_MSG_NEWCHAIN, NLM_F_EXCL);
	netlink_string(n, NFTA_CHAIN_TABLE, TABLE);
	netlink_string(n, NFTA_CHAIN_NAME, name);
	place = netlink_open(n, NFTA_CHAIN_HOOK);
	netlink_be32(n, NFTA_HOOK_HOOKNUM, hook);
	netlink_be32(n, NFTA_HOOK_PRIORITY, (uint32_t)priority);
	netlink_close(n, place);
	netlink_be32(n, NFTA_CHAIN_POLICY, NF_ACCEPT);
	netlink_string(n, NFTA_CHAIN_TYPE, "filter");
	netlink_message_end(n);
}

/* A rule is its chain and a list of expressions, each a name and its data. */
struct rule {
	struct netlink *n;
	size_t list, element, data;
};

static struct rule
begin_rule(struct netlink *n, const char *chain)
{
	struct rule rule = { .n = n };

	begin_message(n, NFT_MSG_NEWRULE, NLM_F_APPEND);
	netlink_string(n, NFTA_RULE_TABLE, TABLE);
	netlink_string(n, NFTA_RULE_CHAIN, chain);
	rule.list = netlink_open(n, NFTA_RULE_EXPRESSIONS);
	return rule;
}

static void
end_rule(struct rule *rule)
{
	netlink_close(rule->n, rule->list);
	netlink_message_end(rule->n);
}

static void
begin_expression(struct rule *rule, const char *name)
{
	rule->element = netlink_open(rule->n, NFTA_LIST_ELEM);
	netlink_string(rule->n, NFTA_EXPR_NAME, name);
	rule->data = netlink_open(rule->n, NFTA_EXPR_DATA);
}

static void
end_expression(struct rule *rule)
{
	netlink_close(rule->n, rule->data);
	netlink_close(rule->n, rule->element);
}

/* Register 1 takes a property of the packet. */
static void
load_meta(struct rule *rule, uint32_t key)
{
	begin_expression(rule, "meta");
	netlink_be32(rule->n, NFTA_META_KEY, key);
	netlink_be32(rule->n, NFTA_META_DREG, NFT_REG_1);
	end_expression(rule);
}

/* Register 1 takes bytes of a header. */
static void
load_bytes(struct rule *rule, uint32_t base, uint32_t offset, uint32_t length)
{
	begin_expression(rule, "payload");
	netlink_be32(rule->n, NFTA_PAYLOAD_DREG, NFT_REG_1);
	netlink_be32(rule->n, NFTA_PAYLOAD_BASE, base);
	netlink_be32(rule->n, NFTA_PAYLOAD_OFFSET, offset);
	netlink_be32(rule->n, NFTA_PAYLOAD_LEN, length);
	end_expression(rule);
}

/* The rule goes on only if register 1 compares so. */
static void
want(struct rule *rule, uint32_t op, const void *value, size_t length)
{
	size_t place;

	begin_expression(rule, "cmp");
	netlink_be32(rule->n, NFTA_CMP_SREG, NFT_REG_1);
	netlink_be32(rule->n, NFTA_CMP_OP, op);
	place = netlink_open(rule->n, NFTA_CMP_DATA);
	netlink_attribute(rule->n, NFTA_DATA_VALUE, value, length);
	netlink_close(rule->n, place);
	end_expression(rule);
}

/* Register 1 lies between both of them, which are included. */
static void
want_between(struct rule *rule, const uint8_t *least, const uint8_t *most)
{
	want(rule, NFT_CMP_GTE, least, 1);
	want(rule, NFT_CMP_LTE, most, 1);
}

static void
want_byte(struct rule *rule, uint32_t key, uint8_t value)
{
	load_meta(rule, key);
	want(rule, NFT_CMP_EQ, &value, 1);
}

static void
set_register(
    struct rule *rule, uint32_t number, const void *value, size_t length)
{
	size_t place;

	begin_expression(rule, "immediate");
	netlink_be32(rule->n, NFTA_IMMEDIATE_DREG, number);
	place = netlink_open(rule->n, NFTA_IMMEDIATE_DATA);
	netlink_attribute(rule->n, NFTA_DATA_VALUE, value, length);
	netlink_close(rule->n, place);
	end_expression(rule);
}

static void
put_verdict(struct rule *rule, uint32_t verdict)
{
	size_t data, value;

	begin_expression(rule, "immediate");
	netlink_be32(rule->n, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = netlink_open(rule->n, NFTA_IMMEDIATE_DATA);
	value = netlink_open(rule->n, NFTA_DATA_VERDICT);
	netlink_be32(rule->n, NFTA_VERDICT_CODE, verdict);
	netlink_close(rule->n, value);
	netlink_close(rule->n, data);
	end_expression(rule);
}

/* Only for addresses that are neither loopback nor the sandbox's own. */
static void
want_foreign(struct rule *rule, uint8_t family)
{
	static const uint8_t loopback6[16] = { [15] = 1 };
	static const uint8_t loopback4 = 127;
	struct address own =
	    family == NFPROTO_IPV4 ? netns_own4() : netns_own6();
	uint32_t at =
	    family == NFPROTO_IPV4 ? IPV4_DESTINATION : IPV6_DESTINATION;

	want_byte(rule, NFT_META_NFPROTO, family);
	load_bytes(rule, NFT_PAYLOAD_NETWORK_HEADER, at,
	    family == NFPROTO_IPV4 ? 1 : 16);
	if (family == NFPROTO_IPV4)
		want(rule, NFT_CMP_NEQ, &loopback4, 1);
	else
		want(rule, NFT_CMP_NEQ, loopback6, sizeof(loopback6));
	load_bytes(rule, NFT_PAYLOAD_NETWORK_HEADER, at, own.length);
	want(rule, NFT_CMP_NEQ, own.bytes, own.length);
}

/* Questions for names have a socket of their own, on any address. */
static void
want_no_question(struct rule *rule)
{
	const uint16_t port = htons(DNS_PORT);

	load_bytes(rule, NFT_PAYLOAD_TRANSPORT_HEADER, UDP_DESTINATION, 2);
	want(rule, NFT_CMP_NEQ, &port, sizeof(port));
}

static void
put_catch(struct netlink *n, uint8_t family, uint8_t protocol)
{
	static const uint8_t listener4[4] = { 127, 0, 0, 1 };
	static const uint8_t listener6[16] = { [15] = 1 };
	const uint16_t port = htons(REDIRECT_PORT);
	struct rule rule = begin_rule(n, CATCH);

	want_foreign(&rule, family);
	want_byte(&rule, NFT_META_L4PROTO, protocol);
	if (protocol == IPPROTO_UDP)
		want_no_question(&rule);
	if (family == NFPROTO_IPV4)
		set_register(&rule, NFT_REG_1, listener4, sizeof(listener4));
	else
		set_register(&rule, NFT_REG_1, listener6, sizeof(listener6));
	set_register(&rule, NFT_REG_2, &port, sizeof(port));
	begin_expression(&rule, "tproxy");
	netlink_be32(n, NFTA_TPROXY_FAMILY, family);
	netlink_be32(n, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
	netlink_be32(n, NFTA_TPROXY_REG_PORT, NFT_REG_2);
	end_expression(&rule);
	put_verdict(&rule, NF_ACCEPT);
	end_rule(&rule);
}

/* ---- what no socket of ours catches ---- */

/* The order of the rules, for each family of addresses. */
enum refused {
	REFUSED_PINGS,
	REFUSED_MULTICAST,
	REFUSED_OTHERS,
	REFUSED_COUNT
};

/* Counted, and told at once: to who sends, and by ICMP. */
static void
put_refusal(struct rule *rule)
{
	const uint8_t code = NFT_REJECT_ICMPX_ADMIN_PROHIBITED;

	begin_expression(rule, "counter");
	end_expression(rule);
	begin_expression(rule, "reject");
	netlink_be32(rule->n, NFTA_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	netlink_attribute(rule->n, NFTA_REJECT_ICMP_CODE, &code, sizeof(code));
	end_expression(rule);
	end_rule(rule);
}

/* Or the sandbox would answer its own ping of any address. */
static void
put_pings(struct netlink *n, uint8_t family)
{
	struct rule rule = begin_rule(n, REFUSE);
	uint8_t type = family == NFPROTO_IPV4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST;

	want_foreign(&rule, family);
	want_byte(&rule, NFT_META_L4PROTO,
	    family == NFPROTO_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
	load_bytes(&rule, NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1);
	want(&rule, NFT_CMP_EQ, &type, 1);
	put_refusal(&rule);
}

/* A group has no end that could be refused. */
static void
put_multicast(struct netlink *n, uint8_t family)
{
	static const uint8_t least[] = { 0xe0, 0xff }, most[] = { 0xef, 0xff };
	struct rule rule = begin_rule(n, REFUSE);
	size_t which = family == NFPROTO_IPV4 ? 0 : 1;

	want_byte(&rule, NFT_META_NFPROTO, family);
	want_byte(&rule, NFT_META_L4PROTO, IPPROTO_UDP);
	load_bytes(&rule, NFT_PAYLOAD_NETWORK_HEADER,
	    family == NFPROTO_IPV4 ? IPV4_DESTINATION : IPV6_DESTINATION, 1);
	want_between(&rule, &least[which], &most[which]);
	put_refusal(&rule);
}

/* Its own kernel speaks ICMP with it, and it may speak to itself. */
static void
put_others(struct netlink *n, uint8_t family)
{
	static const uint8_t known[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP,
		IPPROTO_ICMPV6 };
	struct rule rule = begin_rule(n, REFUSE);

	want_foreign(&rule, family);
	load_meta(&rule, NFT_META_L4PROTO);
	for (size_t i = 0; i < sizeof(known); i++)
		want(&rule, NFT_CMP_NEQ, &known[i], 1);
	put_refusal(&rule);
}

static void
put_refusals(struct netlink *n, uint8_t family)
{
	put_pings(n, family);
	put_multicast(n, family);
	put_others(n, family);
}

int
redirect_install(struct problem *reterr)
{
	struct netlink n;

	netlink_begin(&n);
	put_batch(&n, NFNL_MSG_BATCH_BEGIN);
	put_table(&n);
	put_chain(&n, CATCH, NF_INET_PRE_ROUTING, CATCH_PRIORITY);
	put_chain(&n, REFUSE, NF_INET_LOCAL_OUT, 0);
	put_catch(&n, NFPROTO_IPV4, IPPROTO_TCP);
	put_catch(&n, NFPROTO_IPV6, IPPROTO_TCP);
	put_catch(&n, NFPROTO_IPV4, IPPROTO_UDP);
	put_catch(&n, NFPROTO_IPV6, IPPROTO_UDP);
	put_refusals(&n, NFPROTO_IPV4);
	put_refusals(&n, NFPROTO_IPV6);
	put_batch(&n, NFNL_MSG_BATCH_END);
	if (netlink_talk(&n, NETLINK_NETFILTER) == STATUS_OK)
		return STATUS_OK;
	(void)problem_errno(reterr, "cannot install the TPROXY rules");
	return problem_cure(
	    reterr, "load the kernel modules: modprobe nf_tables nft_tproxy");
}

/* ---- counting ---- */

struct counting {
	uint64_t packets[REFUSED_COUNT];
	unsigned rules; /* heard so far, in the order they were put */
};

/* The data of the next expression that has this name. */
static bool
find_expression(struct cursor *list, const char *name, struct cursor *ret)
{
	struct cursor expression, value, data = { 0 };
	uint16_t type;

	while (netlink_next(list, &type, &expression)) {
		bool found = false;

		while (netlink_next(&expression, &type, &value)) {
			if (type == NFTA_EXPR_NAME)
				found = value.left == strlen(name) + 1 &&
					memcmp(value.at, name, value.left) == 0;
			if (type == NFTA_EXPR_DATA)
				data = value;
		}
		if (!found)
			continue;
		*ret = data;
		return true;
	}
	return false;
}

/* The packets that a rule of these expressions has counted. */
static uint64_t
count_of(struct cursor expressions)
{
	struct cursor data, value;
	uint64_t packets = 0;
	uint16_t type;

	if (!find_expression(&expressions, "counter", &data))
		return 0;
	while (netlink_next(&data, &type, &value))
		if (type == NFTA_COUNTER_PACKETS)
			(void)!cursor_u64(&value, &packets);
	return packets;
}

static void
on_rule(struct cursor message, void *arg)
{
	struct counting *counting = arg;
	struct cursor value, expressions = { 0 };
	bool ours = false;
	uint16_t type;

	if (!cursor_skip(&message, sizeof(struct nfgenmsg)))
		return;
	while (netlink_next(&message, &type, &value)) {
		if (type == NFTA_RULE_CHAIN)
			ours = value.left == sizeof(REFUSE) &&
			       memcmp(value.at, REFUSE, sizeof(REFUSE)) == 0;
		if (type == NFTA_RULE_EXPRESSIONS)
			expressions = value;
	}
	if (ours)
		counting->packets[counting->rules++ % REFUSED_COUNT] +=
		    count_of(expressions);
}

int
redirect_count(int fd, struct redirect_counts *ret)
{
	struct nfgenmsg family = { .nfgen_family = NFPROTO_INET };
	struct counting counting = { 0 };
	struct netlink n;
	int status;

	netlink_begin(&n);
	netlink_message(&n, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETRULE,
	    NLM_F_REQUEST | NLM_F_DUMP);
	netlink_header(&n, &family, sizeof(family));
	netlink_string(&n, NFTA_RULE_TABLE, TABLE);
	netlink_string(&n, NFTA_RULE_CHAIN, REFUSE);
	netlink_message_end(&n);
	status = netlink_dump(&n, fd,
	    NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE, on_rule, &counting);
	if (status != STATUS_OK)
		return status;
	if (counting.rules != 2 * REFUSED_COUNT)
		return STATUS_NOT_FOUND;
	*ret = (struct redirect_counts){
		.pings = counting.packets[REFUSED_PINGS],
		.multicast = counting.packets[REFUSED_MULTICAST],
		.others = counting.packets[REFUSED_OTHERS],
	};
	return STATUS_OK;
}
