#include "schema/reason.h"

#include <assert.h>

/* RFC 8446 section 6 and RFC 8914 section 4. */
enum {
	ALERT_HANDSHAKE_FAILURE = 40,
	ALERT_ILLEGAL_PARAMETER = 47,
	ALERT_ACCESS_DENIED = 49,
	ALERT_DECODE_ERROR = 50,
	ALERT_INTERNAL_ERROR = 80,
	ALERT_UNRECOGNIZED_NAME = 112
};
enum {
	EDE_OTHER = 0,
	EDE_NOT_READY = 14,
	EDE_BLOCKED = 15,
	EDE_FILTERED = 17,
	EDE_PROHIBITED = 18,
	EDE_NETWORK_ERROR = 23
};

#define ASK_OWNER                                                           \
	"Trying again or another way will not help; the owner of this run " \
	"can add a rule to its policy."
#define NEW_TOKEN "Ask http://exeat.internal/v1/token for one."
#define TRY_LATER "This is not about the policy; it may pass, so try later."

static const struct reason_entry entries[] = {
	{ "none", "Nothing was refused", "", REASON_NONE, FAULT_GATEWAY, 500,
	    EDE_OTHER, ALERT_INTERNAL_ERROR },
	{ "no_rule", "No rule of the policy allows this", ASK_OWNER,
	    REASON_NO_RULE, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "denied", "A rule of the policy denies this", ASK_OWNER,
	    REASON_DENIED, FAULT_POLICY, 403, EDE_BLOCKED,
	    ALERT_ACCESS_DENIED },
	{ "method", "The policy does not allow this method here", ASK_OWNER,
	    REASON_METHOD, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "path", "The policy does not allow this path here", ASK_OWNER,
	    REASON_PATH, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "special_address", "This address is not on the public internet",
	    "A rule must say \"private\": true, or name the address, before "
	    "it can be reached.",
	    REASON_SPECIAL_ADDRESS, FAULT_POLICY, 403, EDE_FILTERED,
	    ALERT_ACCESS_DENIED },
	{ "dns_policy", "Questions of this type are not answered here",
	    "Names are resolved outside this sandbox; connect to the name.",
	    REASON_DNS_POLICY, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "sni_mismatch",
	    "The TLS server name is not the host that was connected to",
	    "Connect to the host that you mean to talk to.",
	    REASON_SNI_MISMATCH, FAULT_POLICY, 403, EDE_OTHER,
	    ALERT_UNRECOGNIZED_NAME },
	{ "upstream_tls", "The host's TLS certificate could not be verified",
	    "A rule can name the authority to trust in \"upstream_ca\".",
	    REASON_UPSTREAM_TLS, FAULT_UPSTREAM, 502, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "budget", "A limit of the policy is used up",
	    "What is left stands at http://exeat.internal/v1/limits; the owner "
	    "of this run can raise its limits.",
	    REASON_BUDGET, FAULT_POLICY, 429, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "rate", "Too many requests in a short time",
	    "Wait as long as Retry-After says; what is left stands at "
	    "http://exeat.internal/v1/limits.",
	    REASON_RATE, FAULT_POLICY, 429, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "approval_needed", "A person has to approve this first",
	    "Try again after it was approved.", REASON_APPROVAL_NEEDED,
	    FAULT_POLICY, 403, EDE_PROHIBITED, ALERT_ACCESS_DENIED },
	{ "approval_denied", "A person did not approve this",
	    "Trying again or another way will not help.",
	    REASON_APPROVAL_DENIED, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "placeholder_leak",
	    "A credential's placeholder was sent where it does not belong",
	    "Send it only to the host that its credential is for.",
	    REASON_PLACEHOLDER_LEAK, FAULT_POLICY, 403, EDE_BLOCKED,
	    ALERT_ACCESS_DENIED },
	{ "host_mismatch",
	    "The Host field is not the host that was connected to",
	    "Connect to the host that you mean to talk to.",
	    REASON_HOST_MISMATCH, FAULT_POLICY, 403, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "upgrade", "The policy does not allow this upgrade here", ASK_OWNER,
	    REASON_UPGRADE, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "policy_changed", "The policy changed while this was under way",
	    "Try again: the policy that is in force now decides.",
	    REASON_POLICY_CHANGED, FAULT_POLICY, 403, EDE_PROHIBITED,
	    ALERT_ACCESS_DENIED },
	{ "bad_token", "The token is none of this run's", NEW_TOKEN,
	    REASON_BAD_TOKEN, FAULT_CLIENT, 401, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "expired", "The token's time is over", NEW_TOKEN,
	    REASON_TOKEN_EXPIRED, FAULT_CLIENT, 401, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "revoked", "What this was allowed by was revoked",
	    "Trying again or another way will not help.", REASON_REVOKED,
	    FAULT_POLICY, 403, EDE_PROHIBITED, ALERT_ACCESS_DENIED },
	{ "wrong_run", "The token was made for another run", NEW_TOKEN,
	    REASON_WRONG_RUN, FAULT_CLIENT, 401, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "wrong_aud", "The token was made for another audience", NEW_TOKEN,
	    REASON_WRONG_AUDIENCE, FAULT_CLIENT, 401, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "attenuation", "A token may only be narrowed",
	    "Ask for no more than the token that is exchanged has.",
	    REASON_ATTENUATION, FAULT_POLICY, 403, EDE_OTHER,
	    ALERT_ACCESS_DENIED },
	{ "malformed", "The message is malformed",
	    "Nothing was sent on; correct the message.", REASON_MALFORMED,
	    FAULT_CLIENT, 400, EDE_OTHER, ALERT_DECODE_ERROR },
	{ "ambiguous", "The message can be read in more than one way",
	    "Nothing was sent on; write it so that it has one meaning.",
	    REASON_AMBIGUOUS, FAULT_CLIENT, 400, EDE_OTHER,
	    ALERT_ILLEGAL_PARAMETER },
	{ "client_abort", "The client went away", "", REASON_CLIENT_ABORT,
	    FAULT_CLIENT, 400, EDE_OTHER, ALERT_INTERNAL_ERROR },
	{ "client_timeout", "The client did not finish its request in time",
	    "Send the whole request at once.", REASON_CLIENT_TIMEOUT,
	    FAULT_CLIENT, 408, EDE_OTHER, ALERT_HANDSHAKE_FAILURE },
	{ "upstream_refused", "The host did not accept the connection",
	    TRY_LATER, REASON_UPSTREAM_REFUSED, FAULT_UPSTREAM, 502,
	    EDE_NETWORK_ERROR, ALERT_INTERNAL_ERROR },
	{ "upstream_timeout", "The host did not answer in time", TRY_LATER,
	    REASON_UPSTREAM_TIMEOUT, FAULT_UPSTREAM, 504, EDE_NETWORK_ERROR,
	    ALERT_INTERNAL_ERROR },
	{ "upstream_reset", "The host ended the connection early", TRY_LATER,
	    REASON_UPSTREAM_RESET, FAULT_UPSTREAM, 502, EDE_NETWORK_ERROR,
	    ALERT_INTERNAL_ERROR },
	{ "upstream_unresolved",
	    "The policy allows this host, but its name does not resolve",
	    "Check the name; the gateway resolves it outside this sandbox.",
	    REASON_UPSTREAM_UNRESOLVED, FAULT_UPSTREAM, 502, EDE_NETWORK_ERROR,
	    ALERT_UNRECOGNIZED_NAME },
	{ "upstream_malformed", "The host's answer is malformed", TRY_LATER,
	    REASON_UPSTREAM_MALFORMED, FAULT_UPSTREAM, 502, EDE_OTHER,
	    ALERT_INTERNAL_ERROR },
	{ "audit_unavailable", "The audit cannot record this, so it is refused",
	    TRY_LATER, REASON_AUDIT_UNAVAILABLE, FAULT_GATEWAY, 503,
	    EDE_NOT_READY, ALERT_INTERNAL_ERROR },
	{ "credential_unavailable",
	    "The credential for this cannot be had, so it is refused",
	    TRY_LATER, REASON_CREDENTIAL_UNAVAILABLE, FAULT_GATEWAY, 502,
	    EDE_NOT_READY, ALERT_INTERNAL_ERROR },
	{ "overload", "Too much is going on at once", TRY_LATER,
	    REASON_OVERLOAD, FAULT_GATEWAY, 503, EDE_NOT_READY,
	    ALERT_INTERNAL_ERROR },
	{ "stopping", "This run is ending", "", REASON_STOPPING, FAULT_GATEWAY,
	    503, EDE_NOT_READY, ALERT_INTERNAL_ERROR },
	{ "unsupported", "This gateway does not speak this protocol here",
	    "Use HTTP/1.1, or ask for a rule that passes the connection on.",
	    REASON_UNSUPPORTED, FAULT_GATEWAY, 501, EDE_OTHER,
	    ALERT_HANDSHAKE_FAILURE },
};

enum {
	ENTRY_COUNT = sizeof(entries) / sizeof(entries[0])
};

static const char *const fault_names[] = {
	[FAULT_POLICY] = "policy",
	[FAULT_CLIENT] = "client",
	[FAULT_UPSTREAM] = "upstream",
	[FAULT_GATEWAY] = "gateway",
};

static_assert(sizeof(fault_names) / sizeof(fault_names[0]) == FAULT_COUNT,
    "every fault has a name");

static const struct reason_entry *
find(unsigned number)
{
	for (size_t i = 0; i < ENTRY_COUNT; i++)
		if ((unsigned)entries[i].reason == number)
			return &entries[i];
	return NULL;
}

const struct reason_entry *
reason_entry(enum reason reason)
{
	const struct reason_entry *entry = find((unsigned)reason);

	return entry == NULL ? &entries[0] : entry;
}

const char *
reason_id(enum reason reason)
{
	return reason_entry(reason)->id;
}

bool
reason_is_known(unsigned number)
{
	return find(number) != NULL;
}

const char *
reason_fault_name(enum reason_fault fault)
{
	return fault_names[fault];
}

const struct reason_entry *
reason_entries(size_t *ret_count)
{
	*ret_count = ENTRY_COUNT;
	return entries;
}
