/*
 * dns_query_parse and dns_answer_write: every query that may be answered is,
 * in no more bytes than its sender takes, and no answer is taken for a query.
 */
#include "gateway/proto/dns.h"
#include "schema/limits.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char packet[70000];

static void
check_answer(const struct dns_query *query, const struct dns_answer *answer,
    enum dns_transport transport)
{
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));
	struct cursor message;
	struct dns_query again;

	assert(dns_answer_write(query, answer, transport, &out) == STATUS_OK);
	message = cursor_of(packet, out.used);
	if (transport == DNS_TCP)
		assert(cursor_skip(&message, 2));
	else
		assert(out.used <= query->udp_size && out.used <= DNS_UDP_SIZE);
	assert(dns_query_parse(message, &again) == STATUS_MALFORMED);
	/* Without the mark of an answer it reads as the same question. */
	packet[out.used - message.left + 2] &= 0x7f;
	assert(message.left > LIMIT_DNS_MESSAGE ||
	       dns_query_parse(message, &again) == STATUS_OK);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor stream = cursor_of(bytes, length), message;
	struct address addresses[2] = {
		address_v4((const uint8_t[]){ 198, 18, 0, 1 }),
		address_v6((const uint8_t[16]){ 0xfd, 0x65 }),
	};
	struct dns_answer answer = { .addresses = addresses,
		.count = 2,
		.ttl = 60,
		.has_ede = true,
		.ede_text = "a text of some length, as a policy has it" };
	char name[DNS_NAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];
	struct dns_query query;

	if (dns_stream_take(&stream, &message) == PARSE_OK)
		assert(message.left + 2 + stream.left == length);
	if (dns_query_parse(cursor_of(bytes, length), &query) != STATUS_OK)
		return 0;
	dns_name_print(&query, name);
	dns_type_print(query.type, type);
	assert(strlen(name) > 0 && strlen(type) > 0);
	assert(query.fault != DNS_NOERROR || query.name_length > 0);
	answer.rcode = query.fault;
	check_answer(&query, &answer, DNS_UDP);
	check_answer(&query, &answer, DNS_TCP);
	return 0;
}
