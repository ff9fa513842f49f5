#include "gateway/audit/export_ecs.h"

#include "gateway/audit/entry.h"

/* event.category and event.type: each value is one that the schema lists. */
struct shape {
	const char *category[2];
	const char *type;
};

static const struct shape shapes[EVENT_KIND_END] = {
	[EVENT_HTTP] = { { "network", "web" }, "end" },
	[EVENT_FLOW_END] = { { "network" }, "end" },
	[EVENT_FLOW_OPEN] = { { "network" }, "start" },
	[EVENT_HTTP_INTENT] = { { "network", "web" }, "start" },
	[EVENT_DNS] = { { "network" }, "protocol" },
	[EVENT_TOKEN_ISSUE] = { { "authentication" }, "start" },
	[EVENT_TOKEN_EXCHANGE] = { { "authentication" }, "start" },
	[EVENT_TOKEN_REVOKE] = { { "iam" }, "deletion" },
	[EVENT_CRED_MINT] = { { "iam" }, "creation" },
	[EVENT_APPROVAL_ASK] = { { "iam" }, "info" },
	[EVENT_APPROVAL_DECISION] = { { "iam" }, "change" },
	[EVENT_POLICY_LOAD] = { { "configuration" }, "change" },
	[EVENT_ADMIN] = { { "configuration" }, "change" },
	[EVENT_SANDBOX_START] = { { "process", "session" }, "start" },
	[EVENT_SANDBOX_END] = { { "process", "session" }, "end" },
	[EVENT_ALERT] = { { "intrusion_detection" }, "info" },
	[EVENT_AUDIT] = { { "host" }, "info" },
	[EVENT_MCP_CALL] = { { "api" }, "info" },
	[EVENT_EXEC] = { { "process" }, "start" },
	[EVENT_EXEC_EXIT] = { { "process" }, "end" },
	[EVENT_TOKEN_REFUSED] = { { "authentication" }, "denied" },
};

static const struct {
	const char *outcome;
	const char *type; /* beside the kind's; NULL: none */
} answers[EVENT_VERDICT_COUNT] = {
	[EVENT_INFO] = { "success", NULL },
	[EVENT_ALLOW] = { "success", "allowed" },
	[EVENT_DENY] = { "failure", "denied" },
	[EVENT_WOULD_DENY] = { "success", "allowed" },
	[EVENT_ERROR] = { "failure", "error" },
	[EVENT_PENDING] = { "unknown", NULL },
};

static bool
is_web(const struct query_cell *entry)
{
	return entry_kind(entry) == EVENT_HTTP ||
	       entry_kind(entry) == EVENT_HTTP_INTENT;
}

static bool
is_process(const struct query_cell *entry)
{
	return entry_kind(entry) == EVENT_EXEC ||
	       entry_kind(entry) == EVENT_EXEC_EXIT;
}

static void
put_sorts(const struct query_cell *entry, enum event_kind kind,
    enum event_verdict verdict, struct json *json)
{
	const struct shape *shape = &shapes[kind];

	json_text(json, "kind", entry_is_alert(entry) ? "alert" : "event");
	json_open(json, "category", '[');
	for (size_t i = 0; i < 2 && shape->category[i] != NULL; i++)
		json_text(json, NULL, shape->category[i]);
	json_close(json, ']');
	json_open(json, "type", '[');
	json_text(json, NULL, shape->type);
	if (answers[verdict].type != NULL && is_web(entry))
		json_text(json, NULL, answers[verdict].type);
	json_close(json, ']');
	json_text(json, "outcome", answers[verdict].outcome);
}

static void
put_event(const struct query_cell *entry, struct json *json)
{
	enum event_kind kind = entry_kind(entry);
	enum event_verdict verdict = entry_verdict(entry);

	if ((unsigned)kind >= EVENT_KIND_END || shapes[kind].type == NULL)
		kind = EVENT_AUDIT;
	if ((unsigned)verdict >= EVENT_VERDICT_COUNT)
		verdict = EVENT_INFO;
	json_open(json, "event", '{');
	entry_put_uid(entry, json, "id");
	entry_put(entry, ENTRY_SEQ, json, "sequence");
	json_text(json, "action", event_kind_name(kind));
	json_text(json, "module", "exeat");
	json_text(json, "dataset", "exeat.audit");
	put_sorts(entry, kind, verdict, json);
	entry_put(entry, ENTRY_REASON, json, "reason");
	if (entry_has(entry, ENTRY_DUR_US))
		json_number(
		    json, "duration", entry_number(entry, ENTRY_DUR_US) * 1000);
	json_close(json, '}');
}

static void
put_ends(const struct query_cell *entry, struct json *json)
{
	if (entry_has(entry, ENTRY_RUN) || entry_has(entry, ENTRY_BYTES_OUT)) {
		json_open(json, "source", '{');
		entry_put(entry, ENTRY_RUN, json, "address");
		entry_put(entry, ENTRY_BYTES_OUT, json, "bytes");
		json_close(json, '}');
	}
	if (!entry_has(entry, ENTRY_HOST) && !entry_has(entry, ENTRY_IP))
		return;
	json_open(json, "destination", '{');
	entry_put(entry, ENTRY_HOST, json, "address");
	entry_put(entry, ENTRY_HOST, json, "domain");
	entry_put_ip(entry, json, "ip");
	entry_put(entry, ENTRY_PORT, json, "port");
	entry_put(entry, ENTRY_BYTES_IN, json, "bytes");
	json_close(json, '}');
}

static void
put_http(const struct query_cell *entry, struct json *json)
{
	json_open(json, "url", '{');
	json_text(json, "scheme", entry_tls(entry) != NULL ? "https" : "http");
	entry_put(entry, ENTRY_HOST, json, "domain");
	entry_put(entry, ENTRY_PORT, json, "port");
	entry_put(entry, ENTRY_OBJECT, json, "path");
	json_close(json, '}');
	json_open(json, "http", '{');
	json_open(json, "request", '{');
	entry_put(entry, ENTRY_VERB, json, "method");
	entry_put(entry, ENTRY_REQ, json, "id");
	json_close(json, '}');
	if (entry_has(entry, ENTRY_STATUS)) {
		json_open(json, "response", '{');
		entry_put(entry, ENTRY_STATUS, json, "status_code");
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void
put_dns(const struct query_cell *entry, struct json *json)
{
	json_open(json, "dns", '{');
	json_open(json, "question", '{');
	entry_put(entry,
	    entry_has(entry, ENTRY_HOST) ? ENTRY_HOST : ENTRY_OBJECT, json,
	    "name");
	entry_put(entry, ENTRY_VERB, json, "type");
	json_close(json, '}');
	entry_put(entry, ENTRY_STATUS, json, "response_code");
	json_close(json, '}');
}

static void
put_process(const struct query_cell *entry, struct json *json)
{
	json_open(json, "process", '{');
	entry_put(entry, ENTRY_OBJECT, json, "executable");
	entry_put(entry, ENTRY_ARGV, json, "command_line");
	entry_put(entry, ENTRY_PID, json, "pid");
	if (entry_has(entry, ENTRY_PPID)) {
		json_open(json, "parent", '{');
		entry_put(entry, ENTRY_PPID, json, "pid");
		json_close(json, '}');
	}
	if (entry_has(entry, ENTRY_SHA256)) {
		json_open(json, "hash", '{');
		entry_put(entry, ENTRY_SHA256, json, "sha256");
		json_close(json, '}');
	}
	if (entry_kind(entry) == EVENT_EXEC_EXIT)
		entry_put(entry, ENTRY_STATUS, json, "exit_code");
	json_close(json, '}');
}

static void
put_tls(const struct query_cell *entry, struct json *json)
{
	const char *version = entry_tls(entry);

	if (version == NULL)
		return;
	json_open(json, "tls", '{');
	json_text(json, "version", version);
	json_text(json, "version_protocol", "tls");
	json_open(json, "client", '{');
	entry_put(entry, entry_has(entry, ENTRY_SNI) ? ENTRY_SNI : ENTRY_HOST,
	    json, "server_name");
	json_close(json, '}');
	json_close(json, '}');
}

static void
put_labels(const struct query_cell *entry, struct json *json)
{
	json_open(json, "labels", '{');
	entry_put(entry, ENTRY_RUN, json, "run");
	entry_put(entry, ENTRY_TENANT, json, "tenant");
	entry_put(entry, ENTRY_AGENT, json, "agent");
	entry_put(entry, ENTRY_JTI, json, "jti");
	entry_put(entry, ENTRY_CRED, json, "cred");
	entry_put(entry, ENTRY_PARENT_SEQ, json, "parent_seq");
	entry_put(entry, ENTRY_FLOW, json, "flow");
	entry_put(entry, ENTRY_CAUSE, json, "cause");
	json_close(json, '}');
}

static void
put_rule(const struct query_cell *entry, struct json *json)
{
	if (!entry_has(entry, ENTRY_RULE))
		return;
	json_open(json, "rule", '{');
	entry_put(entry, ENTRY_RULE, json, "name");
	entry_put(entry, ENTRY_POLICY, json, "ruleset");
	json_close(json, '}');
}

static void
put_observer(
    const struct query_cell *entry, const char *version, struct json *json)
{
	json_open(json, "observer", '{');
	json_text(json, "type", "proxy");
	json_text(json, "product", "Exeat");
	json_text(json, "version", version);
	entry_put(entry, ENTRY_MACHINE, json, "hostname");
	json_close(json, '}');
}

void
export_ecs(
    const struct query_cell *entry, const char *version, struct json *json)
{
	json_open(json, NULL, '{');
	entry_put(entry, ENTRY_AT, json, "@timestamp");
	json_open(json, "ecs", '{');
	json_text(json, "version", "9.5.0");
	json_close(json, '}');
	put_event(entry, json);
	put_observer(entry, version, json);
	put_ends(entry, json);
	put_rule(entry, json);
	put_tls(entry, json);
	if (is_web(entry))
		put_http(entry, json);
	if (entry_kind(entry) == EVENT_DNS)
		put_dns(entry, json);
	if (is_process(entry))
		put_process(entry, json);
	if (entry_has(entry, ENTRY_ON_BEHALF) ||
	    entry_has(entry, ENTRY_OWNER)) {
		json_open(json, "user", '{');
		entry_put(entry, ENTRY_ON_BEHALF, json, "id");
		entry_put(entry, ENTRY_OWNER, json, "name");
		json_close(json, '}');
	}
	put_labels(entry, json);
	json_close(json, '}');
}
