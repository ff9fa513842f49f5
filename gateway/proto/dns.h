/*
 * dns - one DNS question in, one answer out (RFC 1035, EDNS of RFC 6891, and
 * extended errors of RFC 8914).
 *
 * A query has exactly one question, no records but one OPT, no compression
 * and nothing behind it.  Names are kept as they were asked, in their own
 * case, for the answer; and as a canonical host name, if they are one.
 *
 * Pure.  The query owns all it holds, so that it may outlive its packet.
 */
#ifndef GATEWAY_PROTO_DNS_H
#define GATEWAY_PROTO_DNS_H

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/hostname.h"
#include "schema/status.h"

/* Types and classes that mean something to us; others are just numbers. */
enum dns_type {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_MX = 15,
	DNS_TYPE_TXT = 16,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SRV = 33,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
	DNS_TYPE_ANY = 255
};

#define DNS_CLASS_IN 1

enum dns_rcode {
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16 /* its upper bits go into the OPT record */
};

enum dns_transport {
	DNS_UDP,
	DNS_TCP /* a 16 bit length stands in front of each message */
};

#define DNS_NAME_MAX 255
/* Each byte of a name as "\000" at the most, and a NUL. */
#define DNS_NAME_TEXT_MAX (DNS_NAME_MAX * 4 + 1)

/* The most that an answer needs; see dns_answer_write(). */
#define DNS_UDP_SIZE 1232

struct dns_query {
	uint16_t id;
	/*
	 * DNS_NOERROR: a question to be judged.  Anything else is the answer
	 * to give at once; what could not be read of the rest is zero.
	 */
	enum dns_rcode fault;
	uint8_t opcode;
	bool recursion_desired, checking_disabled;
	uint8_t name_length; /* 0 when no question could be read */
	unsigned char name[DNS_NAME_MAX]; /* labels as they came */
	struct hostname host; /* not set: the name is no host name */
	uint16_t type, class;
	bool edns, dnssec_ok;
	uint16_t udp_size; /* as offered by EDNS; 512 without */
};

/*
 * Takes one whole message from a TCP stream; PARSE_BAD when it is longer than
 * LIMIT_DNS_MESSAGE or cannot hold a header.
 */
enum parse_result dns_stream_take(struct cursor *stream, struct cursor *ret)
    MUST_CHECK;

/*
 * Reads a query.  STATUS_MALFORMED when it must not be answered at all: it is
 * too short for a header, too long, or itself a response.  Everything else
 * that is wrong with it is told by ret->fault.
 */
int dns_query_parse(struct cursor message, struct dns_query *ret) MUST_CHECK;

/* A question for a host name, as a client would put it. */
void dns_query_for(
    const struct hostname *host, uint16_t type, struct dns_query *ret);

/* The name as people write it, "\DDD" for what they could not. */
void dns_name_print(const struct dns_query *query, char out[DNS_NAME_TEXT_MAX]);

/* "A", "AAAA", "HTTPS" or, for those without a name here, "TYPE999". */
#define DNS_TYPE_TEXT_MAX 12
void dns_type_print(uint16_t type, char out[DNS_TYPE_TEXT_MAX]);

struct dns_answer {
	enum dns_rcode rcode;
	/* Records of the type asked for; those of the other family are left
	 * out.  Borrowed. */
	const struct address *addresses;
	size_t count;
	uint32_t ttl; /* seconds */
	/* Extended error, sent if the query had EDNS; text may be NULL. */
	bool has_ede;
	uint16_t ede;
	const char *ede_text;
};

/*
 * Writes the whole message, over DNS_TCP with its length in front.  Over
 * DNS_UDP it is held to what the client can take, at most DNS_UDP_SIZE: text
 * is shortened first, then records are left out and TC is set.  STATUS_FULL
 * when out is smaller than that.
 */
int dns_answer_write(const struct dns_query *query,
    const struct dns_answer *answer, enum dns_transport transport,
    struct cursor_writer *out) MUST_CHECK;

#endif
