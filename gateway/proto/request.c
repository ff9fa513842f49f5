#include "gateway/proto/request.h"

#include <stdlib.h>
#include <string.h>

bool
request_is_idempotent(const struct request *request)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS",
		"TRACE", "PUT", "DELETE" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(request->method, methods[i]) == 0)
			return true;
	return false;
}

bool
request_has_body(const struct request *request)
{
	return request->body.framing == MESSAGE_CHUNKED ||
	       (request->body.framing == MESSAGE_LENGTH &&
		   request->body.length > 0);
}

/* Moves what text borrows behind what is in out already. */
static void
move(struct cursor *text, struct cursor_writer *out)
{
	const unsigned char *at = out->bytes + out->used;

	cursor_put(out, text->at, text->left);
	text->at = at;
}

struct request *
request_copy(const struct request *request)
{
	const struct header *header = &request->header;
	size_t size =
	    request->path.left + request->query.left + request->upgrade.left;
	struct cursor_writer out;
	struct request *copy;

	for (size_t i = 0; i < header->count; i++)
		size +=
		    header->fields[i].name.left + header->fields[i].value.left;
	copy = calloc(1, sizeof(*copy) + size);
	if (copy == NULL)
		return NULL;
	*copy = *request;
	out = cursor_writer_of(copy + 1, size);
	move(&copy->path, &out);
	move(&copy->query, &out);
	move(&copy->upgrade, &out);
	for (size_t i = 0; i < copy->header.count; i++) {
		move(&copy->header.fields[i].name, &out);
		move(&copy->header.fields[i].value, &out);
	}
	return copy;
}
