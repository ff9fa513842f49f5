/* jsonrpc: what is read has names, and a tool only where one is called. */
#include "gateway/proto/jsonrpc.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct jsonrpc got;

	if (jsonrpc_parse(cursor_of(bytes, length), &got) != STATUS_OK)
		return 0;
	assert(got.count <= LIMIT_MCP_BATCH);
	for (size_t i = 0; i < got.count; i++) {
		const struct jsonrpc_message *message = &got.messages[i];
		bool call = strcmp(message->method, "tools/call") == 0;

		assert(message->method[0] != '\0');
		assert(strlen(message->method) <= LIMIT_MCP_NAME);
		assert(call == (message->tool[0] != '\0'));
	}
	return 0;
}
