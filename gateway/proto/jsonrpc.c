#include "gateway/proto/jsonrpc.h"

#include "schema/status.h"

#include <jansson.h>
#include <string.h>

#define CALL "tools/call"

static int
copy_name(json_t *value, char out[LIMIT_MCP_NAME + 1])
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (text == NULL || length == 0)
		return STATUS_MALFORMED;
	if (length > LIMIT_MCP_NAME)
		return STATUS_TOO_LONG;
	memcpy(out, text, length + 1);
	return STATUS_OK;
}

/* One message; STATUS_NOT_FOUND for an answer, which asks for nothing. */
static int
read_message(json_t *value, struct jsonrpc_message *ret)
{
	json_t *method = json_object_get(value, "method");
	json_t *params = json_object_get(value, "params");
	int status;

	ret->tool[0] = '\0';
	if (!json_is_object(value))
		return STATUS_MALFORMED;
	if (method == NULL)
		return json_object_get(value, "result") != NULL ||
			       json_object_get(value, "error") != NULL
			   ? STATUS_NOT_FOUND
			   : STATUS_MALFORMED;
	status = copy_name(method, ret->method);
	if (status != STATUS_OK || strcmp(ret->method, CALL) != 0)
		return status;
	return copy_name(json_object_get(params, "name"), ret->tool);
}

static int
read_all(json_t *root, struct jsonrpc *ret)
{
	size_t count = json_is_array(root) ? json_array_size(root) : 1;

	ret->count = 0;
	for (size_t i = 0; i < count; i++) {
		json_t *one =
		    json_is_array(root) ? json_array_get(root, i) : root;
		int status;

		if (ret->count == LIMIT_MCP_BATCH)
			return STATUS_TOO_LONG;
		status = read_message(one, &ret->messages[ret->count]);
		if (status == STATUS_OK)
			ret->count++;
		else if (status != STATUS_NOT_FOUND)
			return status;
	}
	return STATUS_OK;
}

int
jsonrpc_parse(struct cursor body, struct jsonrpc *ret)
{
	json_t *root;
	int status;

	if (body.left > LIMIT_MCP_BODY)
		return STATUS_TOO_LONG;
	root = json_loadb(
	    (const char *)body.at, body.left, JSON_REJECT_DUPLICATES, NULL);
	if (root == NULL)
		return STATUS_MALFORMED;
	status = read_all(root, ret);
	json_decref(root);
	return status;
}
