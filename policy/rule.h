/*
 * rule - one rule: its conditions, its settings, and whether facts meet it.
 *
 * An open record, filled in by policy/clause and then left alone.  What
 * finds the rule (host or address) is weighed by policy/index; the rest by
 * rule_weigh().  A condition that a rule does not state always holds, with
 * these defaults for what a rule opens, but not for what it denies: HTTP, its
 * usual ports, reading only, no upgrade.
 */
#ifndef POLICY_RULE_H
#define POLICY_RULE_H

#include "policy/exematch.h"
#include "policy/facts.h"
#include "policy/hostmatch.h"
#include "policy/mcpmatch.h"
#include "policy/netmatch.h"
#include "policy/pathmatch.h"
#include "policy/querymatch.h"
#include "policy/quota.h"

/* From the strictest on: an action overrides those behind it. */
enum rule_action {
	RULE_DENY,
	RULE_ASK,
	RULE_ALLOW,
	RULE_ACTION_COUNT
};

enum rule_protocol {
	RULE_ANY_PROTOCOL, /* a deny that names none */
	RULE_HTTP, /* clear or in TLS */
	RULE_SSH,
	RULE_TCP, /* whatever a TCP connection carries */
	RULE_UDP,
	RULE_PROTOCOL_COUNT
};

enum rule_access {
	RULE_READ, /* GET, HEAD, OPTIONS, and what git fetches with */
	RULE_WRITE, /* every method */
	RULE_FULL, /* every method and every upgrade */
	RULE_METHODS, /* those listed */
	RULE_ACCESS_COUNT
};

/* What becomes of a secret that comes back in a body. */
enum rule_echo {
	RULE_ECHO_PASS, /* nobody looks */
	RULE_ECHO_MASK,
	RULE_ECHO_FLAG,
	RULE_ECHO_COUNT
};

/* What a rule can ask of facts, besides where they lead. */
enum rule_term {
	TERM_PORT,
	TERM_PROTOCOL,
	TERM_METHOD,
	TERM_PATH,
	TERM_QUERY,
	TERM_UPGRADE,
	TERM_EXE,
	TERM_MCP,
	TERM_VALID,
	TERM_COUNT
};

enum answer {
	ANSWER_NO,
	ANSWER_UNKNOWN, /* a fact it needs is not known yet */
	ANSWER_YES
};

/* How a person is asked, and what a yes is worth; times in seconds. */
struct rule_ask {
	uint32_t timeout_s; /* until silence is a no */
	uint32_t grant_s; /* how long an answer stands */
	uint32_t grant_uses; /* how many requests a yes lets through */
};

struct rule {
	char *id; /* unique in its policy */
	char *reason; /* to tell a refused program; or NULL */
	char *note; /* for people; or NULL */
	enum rule_action action;

	/* Where to; one of both lists is empty. */
	struct hostmatch *hosts;
	size_t host_count;
	struct cidr *addresses;
	size_t address_count;

	struct port_range *ports; /* none: every port */
	size_t port_count;
	enum rule_protocol protocol;
	enum rule_access access;
	char **methods; /* of RULE_METHODS */
	size_t method_count;
	struct pathmatch *paths; /* none: every path */
	size_t path_count;
	struct querymatch *queries; /* all of them must hold */
	size_t query_count;
	char **upgrades; /* in lower case */
	size_t upgrade_count;
	struct exematch *exes; /* none: every program */
	size_t exe_count;
	struct mcpmatch mcp;
	int64_t valid_from_us, valid_until_us; /* INT64_MIN and _MAX: always */

	bool passthrough;
	bool private_addresses;
	bool wide;
	struct address resolve; /* or unset */
	char *upstream_ca; /* PEM text, or NULL */
	char *credential; /* its name in the credential file, or NULL */
	bool clear; /* it may travel over plain HTTP */
	enum rule_echo echo;
	bool log_mcp; /* record the messages in bodies */
	struct quota quota; /* of all that this rule allows */
	struct rule_ask ask; /* of RULE_ASK */
};

/* How one rule's conditions stand; bits are 1 << enum rule_term. */
struct rule_match {
	enum answer answer;
	unsigned failed, unknown;
	size_t path_literal; /* of the most specific path that holds or may */
};

void rule_done(struct rule *rule);

const char *rule_id(const struct rule *rule);

/* The operator's words for whoever is refused, or NULL. */
const char *rule_reason(const struct rule *rule);

const char *rule_action_name(enum rule_action action);
const char *rule_protocol_name(enum rule_protocol protocol);
const char *rule_access_name(enum rule_access access);
const char *rule_term_name(enum rule_term term);
const char *rule_echo_name(enum rule_echo echo);

/* Weighs every condition but the target; facts are borrowed for the call. */
void rule_weigh(
    const struct rule *rule, const struct facts *facts, struct rule_match *ret);

/* Whether an allowed connection is passed on without being looked into. */
bool rule_is_opaque(const struct rule *rule);

/* Whether both would open a connection in the same way. */
bool rule_opens_alike(const struct rule *a, const struct rule *b);

/* Whether both would send requests on, and count them, in the same way. */
bool rule_handles_alike(const struct rule *a, const struct rule *b);

/* Whether both would treat what they allow in the same way. */
bool rule_settings_equal(const struct rule *a, const struct rule *b);

#endif
