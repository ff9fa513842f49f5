/*
 * jsonrpc - the messages in a JSON-RPC 2.0 body, as far as MCP's rules look at
 * them: the method, and the name of the tool that is called.
 *
 * Read strictly: JSON with a member twice, with anything behind it, or nested
 * beyond reason is no body of ours, since its server could read it another
 * way.  A batch is an array of messages; answers in it are passed over.
 *
 * Pure but for memory.
 */
#ifndef GATEWAY_PROTO_JSONRPC_H
#define GATEWAY_PROTO_JSONRPC_H

#include "schema/cursor.h"
#include "schema/limits.h"

struct jsonrpc_message {
	char method[LIMIT_MCP_NAME + 1];
	char tool[LIMIT_MCP_NAME + 1]; /* of "tools/call", or empty */
};

/* count 0: nothing is asked for in it. */
struct jsonrpc {
	size_t count;
	struct jsonrpc_message messages[LIMIT_MCP_BATCH];
};

/*
 * STATUS_MALFORMED when it is no such body, STATUS_TOO_LONG when it has more
 * messages or longer names than LIMIT_MCP_BATCH and LIMIT_MCP_NAME; ret is
 * written on success only.
 */
int jsonrpc_parse(struct cursor body, struct jsonrpc *ret) MUST_CHECK;

#endif
