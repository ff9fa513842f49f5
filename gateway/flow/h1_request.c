#include "gateway/flow/h1_request.h"

#include "gateway/flow/flow.h"
#include "gateway/proto/http1.h"
#include "schema/status.h"

#include <stdlib.h>

/* A path that has a query in it after all is none that we know. */
static enum parse_result
read_path(struct h1_request *request, enum head_fault *ret_fault)
{
	struct cursor query;

	if (urlpath_parse(request->head.path, &request->path, &query) ==
		STATUS_OK &&
	    query.left == 0)
		return PARSE_OK;
	*ret_fault = HEAD_FAULT_TARGET;
	return PARSE_BAD;
}

/*
 * Some leave the port out of Host where it belongs, as libgit2 did.  It is
 * the connection's then, which is what is judged; and since it is written
 * out, the server reads the same.
 */
static void
fill_port(const struct flow *flow, struct request *head)
{
	uint16_t usual = flow->protocol == SNIFF_TLS ? 443 : 80;

	if (head->form == REQUEST_ORIGIN &&
	    authority_is_set(&head->authority) && head->authority.port == 0 &&
	    flow->wanted.port != usual)
		head->authority.port = flow->wanted.port;
}

int
h1_request_read(const struct flow *flow, struct cursor input,
    struct h1_request **ret, enum head_fault *ret_fault)
{
	struct h1_request *request = malloc(sizeof(*request));
	enum parse_result result;

	if (request == NULL)
		return STATUS_NO_MEMORY;
	result = http1_request_parse(input, &request->head, ret_fault);
	if (result == PARSE_OK)
		result = read_path(request, ret_fault);
	if (result == PARSE_OK) {
		fill_port(flow, &request->head);
		*ret = request;
		return STATUS_OK;
	}
	free(request);
	return result == PARSE_MORE ? STATUS_AGAIN : STATUS_MALFORMED;
}
