#include "gateway/audit/export_ocsf.h"

#include "gateway/audit/entry.h"
#include "schema/reason.h"

#include <string.h>

/* The classes that rows become; a class is category * 1000 and a number. */
enum {
	PROCESS = 1007,
	EVENT_LOG = 1008,
	FINDING = 2004,
	AUTHENTICATION = 3002,
	AUTHORIZE = 3003,
	ENTITY = 3004,
	USER_ACCESS = 3005,
	NETWORK = 4001,
	HTTP = 4002,
	DNS = 4003,
	TUNNEL = 4014,
	LIFECYCLE = 6002,
	API = 6003,
	OTHER = 99 /* of every enumeration */
};

struct shape {
	int64_t class_uid;
	int64_t activity;
};

/* ---- which class, and which of its activities ---- */

static bool
text_is(struct cursor text, const char *word)
{
	return text.left == strlen(word) &&
	       memcmp(text.at, word, text.left) == 0;
}

static int64_t
http_activity(const struct query_cell *entry)
{
	static const struct {
		const char *method;
		int64_t activity;
	} methods[] = { { "CONNECT", 1 }, { "DELETE", 2 }, { "GET", 3 },
		{ "HEAD", 4 }, { "OPTIONS", 5 }, { "POST", 6 }, { "PUT", 7 },
		{ "TRACE", 8 }, { "PATCH", 9 } };
	struct cursor method = entry_text(entry, ENTRY_VERB);

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (text_is(method, methods[i].method))
			return methods[i].activity;
	return OTHER;
}

/* Open 1, close 2, reset 3, fail 4, refuse 5; a tunnel has the first two. */
static struct shape
flow_shape(const struct query_cell *entry)
{
	bool is_end = entry_kind(entry) == EVENT_FLOW_END;
	struct shape shape = { NETWORK, is_end ? 2 : 1 };
	bool is_unread =
	    entry_has(entry, ENTRY_TLS) && entry_number(entry, ENTRY_TLS) < -1;

	switch (entry_verdict(entry)) {
	case EVENT_DENY:
		shape.activity = 5;
		return shape;
	case EVENT_ERROR:
		shape.activity =
		    text_is(entry_text(entry, ENTRY_REASON), "upstream_reset")
			? 3
			: 4;
		return shape;
	case EVENT_INFO:
	case EVENT_ALLOW:
	case EVENT_WOULD_DENY:
	case EVENT_PENDING:
	case EVENT_VERDICT_COUNT:
		break;
	}
	if (is_unread)
		shape.class_uid = TUNNEL;
	return shape;
}

static int64_t
log_activity(const struct query_cell *entry)
{
	struct cursor what = entry_text(entry, ENTRY_OBJECT);

	if (text_is(what, "start"))
		return 6;
	if (text_is(what, "stop"))
		return 7;
	if (text_is(what, "rotate"))
		return 5;
	if (text_is(what, "prune"))
		return 2;
	return OTHER;
}

static struct shape
shape_of(const struct query_cell *entry)
{
	switch (entry_kind(entry)) {
	case EVENT_HTTP:
	case EVENT_HTTP_INTENT:
		return (struct shape){ HTTP, http_activity(entry) };
	case EVENT_FLOW_OPEN:
	case EVENT_FLOW_END:
		return flow_shape(entry);
	case EVENT_DNS:
		return (struct shape){ DNS, 6 };
	case EVENT_TOKEN_ISSUE:
		return (struct shape){ AUTHENTICATION, 3 };
	case EVENT_TOKEN_EXCHANGE:
	case EVENT_TOKEN_REFUSED:
		return (struct shape){ AUTHENTICATION, 4 };
	case EVENT_TOKEN_REVOKE:
		return (struct shape){ USER_ACCESS, 2 };
	case EVENT_CRED_MINT:
		return (struct shape){ API, 1 };
	case EVENT_MCP_CALL:
		return (struct shape){ API, OTHER };
	case EVENT_APPROVAL_ASK:
		return (struct shape){ AUTHORIZE, OTHER };
	case EVENT_APPROVAL_DECISION:
		return (struct shape){ AUTHORIZE,
			entry_verdict(entry) == EVENT_ALLOW ? 1 : OTHER };
	case EVENT_POLICY_LOAD:
	case EVENT_ADMIN:
		return (struct shape){ ENTITY, 3 };
	case EVENT_SANDBOX_START:
		return (struct shape){ LIFECYCLE, 3 };
	case EVENT_SANDBOX_END:
		return (struct shape){ LIFECYCLE, 4 };
	case EVENT_ALERT:
		return (struct shape){ FINDING, 1 };
	case EVENT_EXEC:
		return (struct shape){ PROCESS, 1 };
	case EVENT_EXEC_EXIT:
		return (struct shape){ PROCESS, 2 };
	case EVENT_AUDIT:
	case EVENT_KIND_END:
		break;
	}
	return (struct shape){ EVENT_LOG, log_activity(entry) };
}

/* ---- what every event has ---- */

/* Action, disposition, status and severity by verdict. */
static const struct {
	int64_t action, disposition, status, severity;
} answers[EVENT_VERDICT_COUNT] = {
	[EVENT_INFO] = { 0, 17, 1, 1 },
	[EVENT_ALLOW] = { 1, 1, 1, 1 },
	[EVENT_DENY] = { 2, 2, 2, 2 },
	[EVENT_WOULD_DENY] = { 1, 15, 1, 2 },
	[EVENT_ERROR] = { 0, 27, 2, 2 },
	[EVENT_PENDING] = { 0, 14, 0, 1 },
};

static void
put_answer(const struct query_cell *entry, struct json *json)
{
	enum event_verdict verdict = entry_verdict(entry);
	bool is_alert = entry_kind(entry) == EVENT_ALERT;

	if ((unsigned)verdict >= EVENT_VERDICT_COUNT)
		verdict = EVENT_INFO;
	json_number(json, "action_id", answers[verdict].action);
	json_number(json, "disposition_id", answers[verdict].disposition);
	json_number(json, "status_id", answers[verdict].status);
	json_number(
	    json, "severity_id", is_alert ? 4 : answers[verdict].severity);
	json_bool(json, "is_alert", is_alert);
	entry_put(entry, ENTRY_REASON, json, "status_detail");
}

static void
put_metadata(
    const struct query_cell *entry, const char *version, struct json *json)
{
	json_open(json, "metadata", '{');
	json_text(json, "version", "1.8.0");
	json_open(json, "product", '{');
	json_text(json, "name", "Exeat");
	json_text(json, "vendor_name", "Exeat");
	json_text(json, "version", version);
	json_close(json, '}');
	json_open(json, "profiles", '[');
	json_text(json, NULL, "security_control");
	json_text(json, NULL, "host");
	json_close(json, ']');
	json_text(json, "log_name", "audit");
	entry_put_uid(entry, json, "uid");
	entry_put(entry, ENTRY_SEQ, json, "sequence");
	entry_put(entry, ENTRY_TENANT, json, "tenant_uid");
	entry_put(entry, ENTRY_REQ, json, "correlation_uid");
	json_close(json, '}');
}

static void
put_user(const struct query_cell *entry, struct json *json)
{
	bool by_other = entry_has(entry, ENTRY_ON_BEHALF);

	json_open(json, "user", '{');
	if (by_other)
		entry_put(entry, ENTRY_ON_BEHALF, json, "uid");
	if (entry_has(entry, ENTRY_OWNER))
		entry_put(entry, ENTRY_OWNER, json, "name");
	else if (!by_other)
		json_text(json, "name", "unknown");
	entry_put(entry, ENTRY_CRED, json, "credential_uid");
	json_close(json, '}');
}

static void
put_actor(const struct query_cell *entry, struct json *json)
{
	json_open(json, "actor", '{');
	put_user(entry, json);
	if (entry_has(entry, ENTRY_JTI)) {
		json_open(json, "session", '{');
		entry_put(entry, ENTRY_JTI, json, "uid");
		json_close(json, '}');
	}
	entry_put(entry, ENTRY_AGENT, json, "app_name");
	entry_put(entry, ENTRY_RUN, json, "app_uid");
	json_close(json, '}');
}

static void
put_rule(const struct query_cell *entry, struct json *json)
{
	if (entry_has(entry, ENTRY_RULE)) {
		json_open(json, "firewall_rule", '{');
		entry_put(entry, ENTRY_RULE, json, "name");
		json_close(json, '}');
	}
	if (entry_has(entry, ENTRY_POLICY)) {
		json_open(json, "policy", '{');
		entry_put(entry, ENTRY_POLICY, json, "uid");
		json_bool(json, "is_applied", true);
		json_close(json, '}');
	}
}

/* The sandbox, as the end that begins. */
static void
put_source(const struct query_cell *entry, struct json *json)
{
	json_open(json, "src_endpoint", '{');
	if (entry_has(entry, ENTRY_RUN))
		entry_put(entry, ENTRY_RUN, json, "uid");
	else
		json_text(json, "name", "exeat");
	json_close(json, '}');
}

static void
put_destination(const struct query_cell *entry, struct json *json)
{
	if (!entry_has(entry, ENTRY_HOST) && !entry_has(entry, ENTRY_IP))
		return;
	json_open(json, "dst_endpoint", '{');
	entry_put(entry, ENTRY_HOST, json, "hostname");
	entry_put_ip(entry, json, "ip");
	entry_put(entry, ENTRY_PORT, json, "port");
	json_close(json, '}');
}

static void
put_device(const struct query_cell *entry, struct json *json)
{
	json_open(json, "device", '{');
	json_number(json, "type_id", 1); /* a server */
	if (entry_has(entry, ENTRY_MACHINE))
		entry_put(entry, ENTRY_MACHINE, json, "hostname");
	else
		json_text(json, "name", "exeat");
	json_close(json, '}');
}

/* ---- what a class has of its own ---- */

static void
put_network(const struct query_cell *entry, struct json *json)
{
	const char *tls = entry_tls(entry);

	put_source(entry, json);
	put_destination(entry, json);
	if (entry_has(entry, ENTRY_BYTES_OUT) ||
	    entry_has(entry, ENTRY_BYTES_IN)) {
		json_open(json, "traffic", '{');
		entry_put(entry, ENTRY_BYTES_OUT, json, "bytes_out");
		entry_put(entry, ENTRY_BYTES_IN, json, "bytes_in");
		json_close(json, '}');
	}
	if (tls == NULL)
		return;
	json_open(json, "tls", '{');
	json_text(json, "version", tls);
	if (entry_has(entry, ENTRY_SNI))
		entry_put(entry, ENTRY_SNI, json, "sni");
	else
		entry_put(entry, ENTRY_HOST, json, "sni");
	json_close(json, '}');
}

static void
put_http(const struct query_cell *entry, struct json *json)
{
	put_network(entry, json);
	json_open(json, "http_request", '{');
	entry_put(entry, ENTRY_VERB, json, "http_method");
	entry_put(entry, ENTRY_REQ, json, "uid");
	json_open(json, "url", '{');
	json_text(json, "scheme", entry_tls(entry) != NULL ? "https" : "http");
	entry_put(entry, ENTRY_HOST, json, "hostname");
	entry_put(entry, ENTRY_PORT, json, "port");
	if (entry_has(entry, ENTRY_OBJECT))
		entry_put(entry, ENTRY_OBJECT, json, "path");
	else
		json_text(json, "path", "");
	json_close(json, '}');
	json_close(json, '}');
	if (!entry_has(entry, ENTRY_STATUS))
		return;
	json_open(json, "http_response", '{');
	entry_put(entry, ENTRY_STATUS, json, "code");
	json_close(json, '}');
}

static void
put_dns(const struct query_cell *entry, struct json *json)
{
	put_source(entry, json);
	json_open(json, "query", '{');
	if (entry_has(entry, ENTRY_HOST))
		entry_put(entry, ENTRY_HOST, json, "hostname");
	else
		json_bytes(json, "hostname", entry_text(entry, ENTRY_OBJECT));
	entry_put(entry, ENTRY_VERB, json, "type");
	json_close(json, '}');
	entry_put(entry, ENTRY_STATUS, json, "rcode_id");
}

/* The last part of a path. */
static struct cursor
name_of(struct cursor path)
{
	size_t at = path.left;

	while (at > 0 && path.at[at - 1] != '/')
		at--;
	return at == path.left ? path : cursor_of(path.at + at, path.left - at);
}

static void
put_process(const struct query_cell *entry, struct json *json)
{
	struct cursor path = entry_text(entry, ENTRY_OBJECT);

	put_device(entry, json);
	json_open(json, "process", '{');
	if (entry_has(entry, ENTRY_PID))
		entry_put(entry, ENTRY_PID, json, "pid");
	else
		entry_put(entry, ENTRY_SEQ, json, "pid");
	json_bytes(json, "name", name_of(path));
	entry_put(entry, ENTRY_ARGV, json, "cmd_line");
	json_open(json, "file", '{');
	json_bytes(json, "name", name_of(path));
	json_bytes(json, "path", path);
	json_number(json, "type_id", 1); /* a regular file */
	json_close(json, '}');
	if (entry_has(entry, ENTRY_PPID)) {
		json_open(json, "parent_process", '{');
		entry_put(entry, ENTRY_PPID, json, "pid");
		json_close(json, '}');
	}
	json_close(json, '}');
	if (entry_kind(entry) == EVENT_EXEC_EXIT)
		entry_put(entry, ENTRY_STATUS, json, "exit_code");
}

static void
put_authentication(const struct query_cell *entry, struct json *json)
{
	put_user(entry, json);
	json_open(json, "service", '{');
	json_text(json, "name", "exeat-broker");
	json_close(json, '}');
}

static void
put_privileges(const struct query_cell *entry, struct json *json)
{
	put_user(entry, json);
	json_open(json, "privileges", '[');
	json_bytes(json, NULL, entry_text(entry, ENTRY_OBJECT));
	json_close(json, ']');
}

static void
put_api(const struct query_cell *entry, struct json *json)
{
	bool is_mint = entry_kind(entry) == EVENT_CRED_MINT;

	put_source(entry, json);
	put_destination(entry, json);
	json_open(json, "api", '{');
	if (entry_has(entry, ENTRY_VERB))
		entry_put(entry, ENTRY_VERB, json, "operation");
	else
		json_text(json, "operation", is_mint ? "mint" : "call");
	json_open(json, "service", '{');
	if (entry_has(entry, is_mint ? ENTRY_CRED : ENTRY_OBJECT))
		entry_put(
		    entry, is_mint ? ENTRY_CRED : ENTRY_OBJECT, json, "name");
	else
		json_text(json, "name", "unknown");
	json_close(json, '}');
	json_close(json, '}');
}

static void
put_entity(const struct query_cell *entry, struct json *json)
{
	bool is_policy = entry_kind(entry) == EVENT_POLICY_LOAD;

	json_open(json, "entity", '{');
	json_text(json, "type", is_policy ? "policy" : "setting");
	if (entry_has(entry, ENTRY_OBJECT))
		entry_put(entry, ENTRY_OBJECT, json, "name");
	else
		json_text(json, "name", "unknown");
	json_close(json, '}');
}

static void
put_lifecycle(const struct query_cell *entry, struct json *json)
{
	put_device(entry, json);
	json_open(json, "app", '{');
	json_text(json, "name", "sandbox");
	entry_put(entry, ENTRY_RUN, json, "uid");
	json_close(json, '}');
}

static void
put_finding(const struct query_cell *entry, struct json *json)
{
	struct cursor title = entry_text(entry, ENTRY_REASON);

	json_open(json, "finding_info", '{');
	entry_put_uid(entry, json, "uid");
	if (title.left > 0)
		json_bytes(json, "title", title);
	else
		json_text(json, "title", "alert");
	json_close(json, '}');
}

static void
put_log(const struct query_cell *entry, struct json *json)
{
	put_device(entry, json);
	json_text(json, "log_name", "audit");
	entry_put(entry, ENTRY_OBJECT, json, "message");
}

static const struct {
	int64_t class_uid;
	void (*put)(const struct query_cell *entry, struct json *json);
} classes[] = {
	{ PROCESS, put_process },
	{ EVENT_LOG, put_log },
	{ FINDING, put_finding },
	{ AUTHENTICATION, put_authentication },
	{ AUTHORIZE, put_privileges },
	{ ENTITY, put_entity },
	{ USER_ACCESS, put_privileges },
	{ NETWORK, put_network },
	{ HTTP, put_http },
	{ DNS, put_dns },
	{ TUNNEL, put_network },
	{ LIFECYCLE, put_lifecycle },
	{ API, put_api },
};

static void
put_unmapped(const struct query_cell *entry, struct json *json)
{
	const char *kind = event_kind_name((unsigned)entry_kind(entry));
	const char *l7 = event_l7_name((unsigned)entry_number(entry, ENTRY_L7));

	json_open(json, "unmapped", '{');
	if (kind != NULL)
		json_text(json, "kind", kind);
	if (entry_has(entry, ENTRY_L7) && l7 != NULL)
		json_text(json, "l7", l7);
	entry_put(entry, ENTRY_FLOW, json, "flow");
	entry_put(entry, ENTRY_PARENT_SEQ, json, "parent_seq");
	entry_put(entry, ENTRY_FAULT, json, "fault");
	if (entry_kind(entry) == EVENT_SANDBOX_END)
		entry_put(entry, ENTRY_STATUS, json, "exit_status");
	entry_put(entry, ENTRY_DETAIL, json, "detail");
	json_close(json, '}');
}

void
export_ocsf(
    const struct query_cell *entry, const char *version, struct json *json)
{
	struct shape shape = shape_of(entry);

	json_open(json, NULL, '{');
	json_number(json, "time", entry_number(entry, ENTRY_TS_US) / 1000);
	json_number(json, "category_uid", shape.class_uid / 1000);
	json_number(json, "class_uid", shape.class_uid);
	json_number(json, "activity_id", shape.activity);
	json_number(json, "type_uid", shape.class_uid * 100 + shape.activity);
	put_answer(entry, json);
	put_metadata(entry, version, json);
	put_actor(entry, json);
	put_rule(entry, json);
	if (entry_has(entry, ENTRY_DUR_US))
		json_number(
		    json, "duration", entry_number(entry, ENTRY_DUR_US) / 1000);
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].class_uid == shape.class_uid)
			classes[i].put(entry, json);
	put_unmapped(entry, json);
	json_close(json, '}');
}
