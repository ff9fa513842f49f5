#include "gateway/audit/entry.h"

#include "schema/address.h"

#include <stdlib.h>
#include <string.h>

/* A detail that is no JSON was changed by somebody: verify tells. */
#define DETAIL(path)                                                     \
	"CASE WHEN json_valid(e.detail) THEN e.detail ->> '$." path "' " \
	"END"

/* In the order of enum entry_field. */
const char entry_page[] =
    "SELECT e.seq, e.ts_us, strftime('%Y-%m-%dT%H:%M:%S', e.ts_us / 1000000, "
    "'unixepoch') || printf('.%03dZ', e.ts_us / 1000 % 1000), e.kind, "
    "e.verdict, nullif(r.name, 'none'), "
    "r.fault, (SELECT v FROM meta WHERE k = 'chain'), s.uid, s.tenant, "
    "s.host, s.owner, p.sub, t.sub_on_behalf, t.jti, "
    "nullif(lower(hex(po.sha256)), "
    "''), "
    "ru.name, e.flow_id, nullif(lower(hex(e.req_id)), ''), e.parent_seq, "
    "d.host, e.dst_ip, e.dst_port, e.l7, e.tls, e.verb, e.object, e.status, "
    "c.name, e.bytes_out, e.bytes_in, e.dur_us, e.detail, " DETAIL(
	"sni") ", " DETAIL("cause") ", CASE WHEN e.kind IN (20, 21) AND "
				    "json_valid(e.detail) THEN (SELECT "
				    "group_concat(value, ' ') FROM "
				    "json_each(e.detail, '$.argv')) "
				    "END, " DETAIL("pid") ", " DETAIL(
					"ppid") ", " DETAIL("sha256") " FROM "
								      "event e "
								      "LEFT "
								      "JOIN "
								      "reason "
								      "r ON "
								      "r.id = "
								      "e."
								      "reason "
								      "LEFT "
								      "JOIN "
								      "sandbox "
								      "s ON "
								      "s.id = "
								      "e."
								      "sandbox_"
								      "id "
								      "LEFT "
								      "JOIN "
								      "principa"
								      "l p ON "
								      "p.id = "
								      "e."
								      "principa"
								      "l_id "
								      "LEFT "
								      "JOIN "
								      "token t "
								      "ON t.id "
								      "= "
								      "e.token_"
								      "id "
								      "LEFT "
								      "JOIN "
								      "policy "
								      "po ON "
								      "po.id = "
								      "e."
								      "policy_"
								      "id "
								      "LEFT "
								      "JOIN "
								      "rule ru "
								      "ON "
								      "ru.id = "
								      "e.rule_"
								      "id "
								      "LEFT "
								      "JOIN "
								      "dst d "
								      "ON d.id "
								      "= "
								      "e.dst_"
								      "id "
								      "LEFT "
								      "JOIN "
								      "cred c "
								      "ON c.id "
								      "= "
								      "e.cred_"
								      "id "
								      "WHERE "
								      "e.seq > "
								      ":after "
								      "AND "
								      "e.ts_us "
								      ">= "
								      ":since "
								      "ORDER "
								      "BY "
								      "e.seq "
								      "LIMIT "
								      ":limit";

bool
entry_has(const struct query_cell *entry, enum entry_field field)
{
	return entry[field].type != QUERY_NULL;
}

struct cursor
entry_text(const struct query_cell *entry, enum entry_field field)
{
	return entry[field].type == QUERY_TEXT ? entry[field].text
					       : cursor_of(NULL, 0);
}

int64_t
entry_number(const struct query_cell *entry, enum entry_field field)
{
	return entry[field].type == QUERY_INTEGER ? entry[field].number : -1;
}

enum event_kind
entry_kind(const struct query_cell *entry)
{
	return (enum event_kind)entry_number(entry, ENTRY_KIND);
}

enum event_verdict
entry_verdict(const struct query_cell *entry)
{
	return (enum event_verdict)entry_number(entry, ENTRY_VERDICT);
}

void
entry_put(const struct query_cell *entry, enum entry_field field,
    struct json *json, const char *key)
{
	switch (entry[field].type) {
	case QUERY_INTEGER:
		json_number(json, key, entry[field].number);
		return;
	case QUERY_TEXT:
		json_bytes(json, key, entry[field].text);
		return;
	case QUERY_NULL:
	case QUERY_REAL:
	case QUERY_BLOB:
		return;
	}
}

void
entry_put_ip(const struct query_cell *entry, struct json *json, const char *key)
{
	struct cursor bytes = entry[ENTRY_IP].text;
	struct address address;
	char text[ADDRESS_TEXT_MAX];

	if (entry[ENTRY_IP].type != QUERY_BLOB)
		return;
	if (bytes.left == 4)
		address = address_v4(bytes.at);
	else if (bytes.left == 16)
		address = address_v6(bytes.at);
	else
		return;
	address_print(&address, text);
	json_text(json, key, text);
}

void
entry_uid(const struct query_cell *entry, struct cursor_writer *out)
{
	struct cursor chain = entry_text(entry, ENTRY_CHAIN);

	cursor_put(out, chain.at, chain.left);
	cursor_put_u8(out, ':');
	cursor_put_decimal(out, (uint64_t)entry_number(entry, ENTRY_SEQ));
}

void
entry_put_uid(
    const struct query_cell *entry, struct json *json, const char *key)
{
	char text[128];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	entry_uid(entry, &out);
	if (cursor_written(&out))
		json_bytes(json, key, cursor_of(out.bytes, out.used));
}

const char *
entry_tls(const struct query_cell *entry)
{
	switch (llabs(entry[ENTRY_TLS].type == QUERY_INTEGER
			  ? entry[ENTRY_TLS].number
			  : 0)) {
	case 0x0301:
		return "1.0";
	case 0x0302:
		return "1.1";
	case 0x0303:
		return "1.2";
	case 0x0304:
		return "1.3";
	default:
		return NULL;
	}
}

bool
entry_is_alert(const struct query_cell *entry)
{
	return entry_kind(entry) == EVENT_ALERT ||
	       entry_verdict(entry) == EVENT_DENY;
}
