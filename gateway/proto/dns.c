#include "gateway/proto/dns.h"

#include "schema/limits.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER_LENGTH = 12,
	FLAG_RESPONSE = 0x8000,
	FLAG_TRUNCATED = 0x0200,
	FLAG_RECURSION_DESIRED = 0x0100,
	FLAG_RECURSION_AVAILABLE = 0x0080,
	FLAG_CHECKING_DISABLED = 0x0010,
	OPT_DNSSEC_OK = 0x8000,
	OPT_LENGTH = 11, /* its root name, type, class, TTL and length */
	RECORD_LENGTH = 12, /* an answer but its data, its name a pointer */
	OPTION_EDE = 15, /* RFC 8914 section 2 */
	OPTION_HEADER = 4,
	EDE_CODE_LENGTH = 2,
	NAME_POINTER = 0xc000, /* RFC 1035 section 4.1.4 */
	UDP_SIZE_PLAIN = 512
};

/* ---- queries ---- */

enum parse_result
dns_stream_take(struct cursor *stream, struct cursor *ret)
{
	struct cursor rest = *stream;
	uint16_t length;

	if (!cursor_u16(&rest, &length))
		return PARSE_MORE;
	if (length < HEADER_LENGTH || length > LIMIT_DNS_MESSAGE)
		return PARSE_BAD;
	if (!cursor_take(&rest, length, ret))
		return PARSE_MORE;
	*stream = rest;
	return PARSE_OK;
}

/* A name of whole labels: no pointer, at most DNS_NAME_MAX bytes. */
static bool
take_name(struct cursor *message, struct cursor *ret)
{
	struct cursor rest = *message;
	uint8_t length;

	do {
		/* What has its upper bits set is no length. */
		if (!cursor_u8(&rest, &length) || length > LIMIT_LABEL ||
		    !cursor_skip(&rest, length) ||
		    message->left - rest.left > DNS_NAME_MAX)
			return false;
	} while (length > 0);
	return cursor_take(message, message->left - rest.left, ret);
}

/* The name as a host name, if it is one. */
static void
find_host(struct cursor name, struct hostname *ret)
{
	char text[DNS_NAME_MAX];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct cursor label;
	uint8_t length;

	while (cursor_u8(&name, &length) && length > 0 &&
	       cursor_take(&name, length, &label)) {
		/* It would look like two labels. */
		if (memchr(label.at, '.', label.left) != NULL)
			return;
		if (out.used > 0)
			cursor_put_u8(&out, '.');
		cursor_put(&out, label.at, label.left);
	}
	if (!cursor_written(&out))
		return;
	/* Not a host name is an answer as well: it stays unset. */
	(void)(hostname_parse(text, out.used, ret) == STATUS_OK);
}

static bool
read_question(struct cursor *message, struct dns_query *query)
{
	struct cursor name;
	uint16_t type, class;

	if (!take_name(message, &name) || !cursor_u16(message, &type) ||
	    !cursor_u16(message, &class))
		return false;
	query->name_length = (uint8_t)name.left;
	memcpy(query->name, name.at, name.left);
	query->type = type;
	query->class = class;
	find_host(name, &query->host);
	return true;
}

/* The one additional record that a query may have (RFC 6891 section 6.1). */
static bool
read_opt(struct cursor *message, struct dns_query *query)
{
	struct cursor options, value;
	uint8_t root, extended, version;
	uint16_t type, size, flags, code;

	if (!cursor_u8(message, &root) || root != 0 ||
	    !cursor_u16(message, &type) || type != DNS_TYPE_OPT ||
	    !cursor_u16(message, &size) || !cursor_u8(message, &extended) ||
	    !cursor_u8(message, &version) || !cursor_u16(message, &flags) ||
	    !cursor_block(message, &options))
		return false;
	while (!cursor_is_empty(&options))
		if (!cursor_u16(&options, &code) ||
		    !cursor_block(&options, &value))
			return false;
	query->edns = true;
	query->dnssec_ok = (flags & OPT_DNSSEC_OK) != 0;
	if (size > UDP_SIZE_PLAIN)
		query->udp_size = size;
	if (version != 0)
		query->fault = DNS_BADVERS;
	return true;
}

static bool
read_sections(
    struct cursor message, const uint16_t counts[4], struct dns_query *query)
{
	if (counts[0] != 1 || counts[1] != 0 || counts[2] != 0 || counts[3] > 1)
		return false;
	if (!read_question(&message, query))
		return false;
	if (counts[3] == 1 && !read_opt(&message, query))
		return false;
	return cursor_is_empty(&message);
}

int
dns_query_parse(struct cursor message, struct dns_query *ret)
{
	struct dns_query query = { .udp_size = UDP_SIZE_PLAIN };
	uint16_t flags, counts[4];

	if (message.left > LIMIT_DNS_MESSAGE)
		return STATUS_MALFORMED;
	if (!cursor_u16(&message, &query.id) || !cursor_u16(&message, &flags) ||
	    !cursor_u16(&message, &counts[0]) ||
	    !cursor_u16(&message, &counts[1]) ||
	    !cursor_u16(&message, &counts[2]) ||
	    !cursor_u16(&message, &counts[3]))
		return STATUS_MALFORMED;
	/* Answering answers could go on for ever. */
	if ((flags & FLAG_RESPONSE) != 0)
		return STATUS_MALFORMED;
	query.opcode = (uint8_t)(flags >> 11 & 15);
	query.recursion_desired = (flags & FLAG_RECURSION_DESIRED) != 0;
	query.checking_disabled = (flags & FLAG_CHECKING_DISABLED) != 0;
	if (query.opcode != 0)
		query.fault = DNS_NOTIMP;
	else if ((flags & FLAG_TRUNCATED) != 0 ||
		 !read_sections(message, counts, &query))
		query.fault = DNS_FORMERR;
	*ret = query;
	return STATUS_OK;
}

/* Its labels have at most LIMIT_LABEL bytes, so all of it fits. */
static void
write_name(const struct hostname *host, struct cursor_writer *out)
{
	struct cursor rest = cursor_of(host->text, host->length), label;

	while (!cursor_is_empty(&rest)) {
		if (!cursor_until(&rest, '.', &label)) {
			label = rest;
			rest.left = 0;
		}
		cursor_put_u8(out, (uint8_t)label.left);
		cursor_put(out, label.at, label.left);
	}
	cursor_put_u8(out, 0);
}

void
dns_query_for(const struct hostname *host, uint16_t type, struct dns_query *ret)
{
	struct dns_query query = { .host = *host,
		.type = type,
		.class = DNS_CLASS_IN,
		.udp_size = UDP_SIZE_PLAIN };
	struct cursor_writer name =
	    cursor_writer_of(query.name, sizeof(query.name));

	write_name(host, &name);
	query.name_length = (uint8_t)name.used;
	*ret = query;
}

/* ---- words ---- */

static void
print_byte(uint8_t byte, struct cursor_writer *out)
{
	bool plain = (byte >= 'a' && byte <= 'z') ||
		     (byte >= 'A' && byte <= 'Z') ||
		     (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';

	if (plain) {
		cursor_put_u8(out, byte);
		return;
	}
	cursor_put_u8(out, '\\');
	cursor_put_u8(out, (uint8_t)('0' + byte / 100));
	cursor_put_u8(out, (uint8_t)('0' + byte / 10 % 10));
	cursor_put_u8(out, (uint8_t)('0' + byte % 10));
}

void
dns_name_print(const struct dns_query *query, char out[DNS_NAME_TEXT_MAX])
{
	struct cursor name = cursor_of(query->name, query->name_length);
	struct cursor_writer text =
	    cursor_writer_of(out, DNS_NAME_TEXT_MAX - 1);
	struct cursor label;
	uint8_t length;

	while (cursor_u8(&name, &length) && length > 0 &&
	       cursor_take(&name, length, &label)) {
		if (text.used > 0)
			cursor_put_u8(&text, '.');
		for (size_t i = 0; i < label.left; i++)
			print_byte(label.at[i], &text);
	}
	if (text.used == 0)
		cursor_put_u8(&text, '.');
	out[text.used] = '\0';
}

void
dns_type_print(uint16_t type, char out[DNS_TYPE_TEXT_MAX])
{
	static const struct {
		uint16_t type;
		const char *name;
	} types[] = {
		{ DNS_TYPE_A, "A" },
		{ DNS_TYPE_NS, "NS" },
		{ DNS_TYPE_CNAME, "CNAME" },
		{ DNS_TYPE_SOA, "SOA" },
		{ DNS_TYPE_PTR, "PTR" },
		{ DNS_TYPE_MX, "MX" },
		{ DNS_TYPE_TXT, "TXT" },
		{ DNS_TYPE_AAAA, "AAAA" },
		{ DNS_TYPE_SRV, "SRV" },
		{ DNS_TYPE_OPT, "OPT" },
		{ DNS_TYPE_SVCB, "SVCB" },
		{ DNS_TYPE_HTTPS, "HTTPS" },
		{ DNS_TYPE_ANY, "ANY" },
	};
	struct cursor_writer text =
	    cursor_writer_of(out, DNS_TYPE_TEXT_MAX - 1);
	size_t i = 0;

	while (i < sizeof(types) / sizeof(types[0]) && types[i].type != type)
		i++;
	if (i < sizeof(types) / sizeof(types[0])) {
		cursor_put_text(&text, types[i].name);
	} else {
		cursor_put_text(&text, "TYPE");
		cursor_put_decimal(&text, type);
	}
	out[text.used] = '\0';
}

/* ---- answers ---- */

/* How many bytes the message may have. */
static size_t
size_allowed(const struct dns_query *query, enum dns_transport transport)
{
	if (transport == DNS_TCP)
		return UINT16_MAX;
	return query->udp_size < DNS_UDP_SIZE ? query->udp_size : DNS_UDP_SIZE;
}

static bool
is_asked_for(const struct dns_query *query, const struct address *address)
{
	return (query->type == DNS_TYPE_A && address->length == 4) ||
	       (query->type == DNS_TYPE_AAAA && address->length == 16);
}

/* The addresses that answer the question; each as a whole record or not. */
static size_t
count_records(const struct dns_query *query, const struct dns_answer *answer)
{
	size_t count = 0;

	for (size_t i = 0; i < answer->count; i++)
		if (is_asked_for(query, &answer->addresses[i]))
			count++;
	return count;
}

static void
write_header(const struct dns_query *query, unsigned flags, size_t records,
    struct cursor_writer *out)
{
	flags |= FLAG_RESPONSE | FLAG_RECURSION_AVAILABLE;
	flags |= (unsigned)query->opcode << 11;
	if (query->recursion_desired)
		flags |= FLAG_RECURSION_DESIRED;
	if (query->checking_disabled)
		flags |= FLAG_CHECKING_DISABLED;
	cursor_put_u16(out, query->id);
	cursor_put_u16(out, (uint16_t)flags);
	cursor_put_u16(out, query->name_length > 0 ? 1 : 0);
	cursor_put_u16(out, (uint16_t)records);
	cursor_put_u16(out, 0);
	cursor_put_u16(out, query->edns ? 1 : 0);
	if (query->name_length == 0)
		return;
	cursor_put(out, query->name, query->name_length);
	cursor_put_u16(out, query->type);
	cursor_put_u16(out, query->class);
}

static void
write_records(const struct dns_query *query, const struct dns_answer *answer,
    struct cursor_writer *out)
{
	for (size_t i = 0; i < answer->count; i++) {
		const struct address *address = &answer->addresses[i];

		if (!is_asked_for(query, address))
			continue;
		/* The question's name stands right behind the header. */
		cursor_put_u16(out, NAME_POINTER | HEADER_LENGTH);
		cursor_put_u16(out, query->type);
		cursor_put_u16(out, DNS_CLASS_IN);
		cursor_put_u32(out, answer->ttl);
		cursor_put_block(out, address->bytes, address->length);
	}
}

/*
 * The OPT record, with the extended error if there is one; its text is cut,
 * between two characters of UTF-8, to what the message has room for.
 */
static void
write_opt(const struct dns_query *query, const struct dns_answer *answer,
    size_t room, struct cursor_writer *out)
{
	const char *text = answer->ede_text == NULL ? "" : answer->ede_text;
	size_t length = strlen(text), fixed = OPTION_HEADER + EDE_CODE_LENGTH;
	bool ede = answer->has_ede && room >= OPT_LENGTH + fixed;

	cursor_put_u8(out, 0);
	cursor_put_u16(out, DNS_TYPE_OPT);
	cursor_put_u16(out, DNS_UDP_SIZE);
	cursor_put_u8(out, (uint8_t)((unsigned)answer->rcode >> 4));
	cursor_put_u8(out, 0);
	cursor_put_u16(out, query->dnssec_ok ? OPT_DNSSEC_OK : 0);
	if (!ede) {
		cursor_put_u16(out, 0);
		return;
	}
	if (length > room - OPT_LENGTH - fixed)
		length = room - OPT_LENGTH - fixed;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	cursor_put_u16(out, (uint16_t)(fixed + length));
	cursor_put_u16(out, OPTION_EDE);
	cursor_put_u16(out, (uint16_t)(EDE_CODE_LENGTH + length));
	cursor_put_u16(out, answer->ede);
	cursor_put(out, text, length);
}

/* Everything of the answer, in at most allowed bytes. */
static void
write_message(const struct dns_query *query, const struct dns_answer *answer,
    size_t allowed, struct cursor_writer *out)
{
	size_t record = RECORD_LENGTH + (query->type == DNS_TYPE_A ? 4U : 16U);
	size_t fixed = HEADER_LENGTH + (query->edns ? OPT_LENGTH : 0);
	size_t records = count_records(query, answer), begin = out->used;
	unsigned flags = (unsigned)answer->rcode & 15;

	if (query->name_length > 0)
		fixed += query->name_length + 4U;
	if (records > (allowed - fixed) / record) {
		flags |= FLAG_TRUNCATED;
		records = 0;
	}
	write_header(query, flags, records, out);
	if (records > 0)
		write_records(query, answer, out);
	if (query->edns)
		write_opt(query, answer, allowed - (out->used - begin), out);
}

int
dns_answer_write(const struct dns_query *query, const struct dns_answer *answer,
    enum dns_transport transport, struct cursor_writer *out)
{
	struct cursor_writer copy = *out;
	size_t begin;

	if (transport == DNS_TCP)
		cursor_put_u16(&copy, 0);
	begin = copy.used;
	write_message(query, answer, size_allowed(query, transport), &copy);
	if (transport == DNS_TCP)
		cursor_patch_u16(
		    &copy, begin - 2, (uint16_t)(copy.used - begin));
	if (!cursor_written(&copy))
		return STATUS_FULL;
	*out = copy;
	return STATUS_OK;
}
