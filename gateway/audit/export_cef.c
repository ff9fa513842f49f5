#include "gateway/audit/export_cef.h"

#include "gateway/audit/entry.h"

#include <string.h>

enum {
	SEVERITY_REFUSAL = 5, /* of 10 */
	SEVERITY_ALERT = 8
};

/* What cannot stand in a value as it is has a backslash before it. */
static void
put_escaped(struct cursor text, const char *marked, struct cursor_writer *out)
{
	for (size_t i = 0; i < text.left; i++) {
		unsigned char byte = text.at[i];

		if (byte == '\n' || byte == '\r') {
			cursor_put_text(out, byte == '\n' ? "\\n" : "\\r");
			continue;
		}
		if (byte < 0x20 || byte >= 0x7f) {
			cursor_put_u8(out, '?');
			continue;
		}
		if (strchr(marked, byte) != NULL)
			cursor_put_u8(out, '\\');
		cursor_put_u8(out, byte);
	}
}

static void
put_head(struct cursor text, struct cursor_writer *out)
{
	cursor_put_u8(out, '|');
	put_escaped(text, "\\|", out);
}

static const struct {
	const char *key;
	enum entry_field field;
	const char *label; /* of a custom string; NULL: none */
} fields[] = {
	{ "shost", ENTRY_MACHINE, NULL },
	{ "suser", ENTRY_OWNER, NULL },
	{ "sourceServiceName", ENTRY_RUN, NULL },
	{ "dhost", ENTRY_HOST, NULL },
	{ "dpt", ENTRY_PORT, NULL },
	{ "requestMethod", ENTRY_VERB, NULL },
	{ "request", ENTRY_OBJECT, NULL },
	{ "reason", ENTRY_REASON, NULL },
	{ "out", ENTRY_BYTES_OUT, NULL },
	{ "in", ENTRY_BYTES_IN, NULL },
	{ "cs1", ENTRY_RULE, "rule" },
	{ "cs2", ENTRY_CRED, "cred" },
	{ "cs3", ENTRY_JTI, "jti" },
	{ "cs4", ENTRY_AGENT, "agent" },
	{ "cs5", ENTRY_CAUSE, "cause" },
};

static void
put_field(const struct query_cell *entry, size_t at, struct cursor_writer *out)
{
	enum entry_field field = fields[at].field;

	if (!entry_has(entry, field))
		return;
	if (fields[at].label != NULL) {
		cursor_put_u8(out, ' ');
		cursor_put_text(out, fields[at].key);
		cursor_put_text(out, "Label=");
		cursor_put_text(out, fields[at].label);
	}
	cursor_put_u8(out, ' ');
	cursor_put_text(out, fields[at].key);
	cursor_put_u8(out, '=');
	if (entry[field].type == QUERY_INTEGER)
		cursor_put_decimal(out, (uint64_t)entry[field].number);
	else
		put_escaped(entry_text(entry, field), "\\=", out);
}

void
export_cef(const struct query_cell *entry, const char *version,
    struct cursor_writer *out)
{
	const char *kind = event_kind_name((unsigned)entry_kind(entry));
	struct cursor reason = entry_text(entry, ENTRY_REASON);
	bool is_alert = entry_kind(entry) == EVENT_ALERT;

	cursor_put_text(out, "CEF:0|Exeat|Exeat");
	put_head(cursor_of_text(version), out);
	put_head(reason.left > 0 ? reason : cursor_of_text("alert"), out);
	put_head(cursor_of_text(kind == NULL ? "alert" : kind), out);
	cursor_put_u8(out, '|');
	cursor_put_decimal(out,
	    is_alert ? (uint64_t)SEVERITY_ALERT : (uint64_t)SEVERITY_REFUSAL);
	cursor_put_text(out, "|rt=");
	cursor_put_decimal(
	    out, (uint64_t)entry_number(entry, ENTRY_TS_US) / 1000);
	cursor_put_text(out, " act=blocked externalId=");
	entry_uid(entry, out);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put_field(entry, i, out);
}
