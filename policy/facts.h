/*
 * facts - the question: what is known about one attempt at one stage.
 *
 * Facts arrive in stages.  A fact is unknown before its stage, and known or
 * known to be absent from then on: a TLS connection without SNI has no name
 * in its hello, an SSH connection has no method.  A condition on an absent
 * fact fails; on an unknown one it is neither yes nor no.
 *
 * Everything is borrowed for the time of the question.
 */
#ifndef POLICY_FACTS_H
#define POLICY_FACTS_H

#include "policy/urlpath.h"
#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/hostname.h"

#include <stdbool.h>

enum stage {
	STAGE_NAME, /* DNS: a name was asked for */
	STAGE_CONNECT, /* a connection: address, port, perhaps its name */
	STAGE_HELLO, /* first bytes: protocol, SNI */
	STAGE_REQUEST, /* an HTTP request, or an upgrade in it */
	STAGE_COUNT
};

enum fact_protocol {
	FACT_PROTOCOL_UNKNOWN,
	FACT_PROTOCOL_HTTP, /* clear, or inside TLS */
	FACT_PROTOCOL_TLS, /* TLS whose inside nobody has seen yet */
	FACT_PROTOCOL_SSH,
	FACT_PROTOCOL_TCP, /* anything else, or the server speaks first */
	FACT_PROTOCOL_UDP
};

/* What the body of a request says, where it is looked into. */
enum fact_message {
	FACT_MESSAGE_UNKNOWN, /* not read, or not yet */
	FACT_MESSAGE_NONE, /* it is no message of a protocol that we read */
	FACT_MESSAGE_MCP
};

struct facts {
	enum stage stage;
	/*
	 * Whether more facts can still come for this attempt: false makes
	 * unknown count against the request (a match for deny and ask, a miss
	 * for allow), so that need_more is never the answer.
	 */
	bool last;
	int64_t now_us; /* wall clock, for "valid" */

	/* Who is meant: a name, or an address that was dialled literally. */
	bool by_name; /* else literal is set */
	struct hostname host; /* when by_name */
	struct address literal; /* when not by_name */

	/* STAGE_CONNECT */
	uint16_t port; /* 0: unknown */

	/* STAGE_HELLO */
	enum fact_protocol protocol;

	/* STAGE_REQUEST; NULL while unknown or for what has none */
	const char *method;
	const struct urlpath *path;
	struct cursor query; /* as sent, behind '?' */
	struct cursor upgrade; /* token of an upgrade, or empty */

	/*
	 * One message of its body; a batch is one question for each.  tool is
	 * what a "tools/call" calls.
	 */
	enum fact_message message;
	struct cursor mcp_method, mcp_tool;

	/*
	 * The program that opened the connection: its resolved path, and the
	 * SHA-256 of its file.  Either may be known alone; NULL is unknown.
	 */
	const char *exe;
	const uint8_t *exe_sha256; /* 32 bytes */
};

const char *stage_name(enum stage stage);

#endif
