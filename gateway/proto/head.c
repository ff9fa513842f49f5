#include "gateway/proto/head.h"

#include <string.h>

enum head_fault
head_method(struct cursor method, struct request *request)
{
	if (!header_is_token(method) || method.left > LIMIT_HTTP_METHOD)
		return HEAD_FAULT_METHOD;
	/* Some servers take "delete" for DELETE, and no rule would. */
	for (size_t i = 0; i < method.left; i++)
		if (method.at[i] >= 'a' && method.at[i] <= 'z')
			return HEAD_FAULT_METHOD;
	if (cursor_equals(method, "CONNECT"))
		return HEAD_FAULT_CONNECT;
	memcpy(request->method, method.at, method.left);
	request->method[method.left] = '\0';
	return HEAD_FAULT_NONE;
}

enum head_fault
head_target_text(struct cursor target)
{
	if (target.left > LIMIT_HTTP_URI)
		return HEAD_FAULT_TARGET_LONG;
	for (size_t i = 0; i < target.left; i++)
		if (target.at[i] <= 0x20 || target.at[i] >= 0x7f ||
		    target.at[i] == '#')
			return HEAD_FAULT_TARGET;
	return target.left > 0 ? HEAD_FAULT_NONE : HEAD_FAULT_TARGET;
}

void
head_split(struct cursor text, struct request *request)
{
	struct cursor path;

	request->path = text;
	if (cursor_until(&text, '?', &path)) {
		request->path = path;
		request->query = text;
		request->has_query = true;
	}
	if (cursor_is_empty(&request->path))
		request->path = cursor_of_text("/");
}

enum head_fault
head_target(struct cursor target, struct request *request)
{
	uint8_t first;

	if (cursor_equals(target, "*")) {
		if (strcmp(request->method, "OPTIONS") != 0)
			return HEAD_FAULT_TARGET;
		request->form = REQUEST_ASTERISK;
		request->path = target;
		return HEAD_FAULT_NONE;
	}
	if (!cursor_peek(&target, &first) || first != '/')
		return HEAD_FAULT_TARGET;
	request->form = REQUEST_ORIGIN;
	head_split(target, request);
	return HEAD_FAULT_NONE;
}

enum head_fault
head_length(const struct header *header, struct message_body *body)
{
	struct cursor value;
	uint64_t length;

	if (header_count(header, "Content-Length") > 1)
		return HEAD_FAULT_LENGTH_TWICE;
	if (!header_find(header, "Content-Length", &value))
		return HEAD_FAULT_NONE;
	if (!cursor_decimal(&value, INT64_MAX, &length))
		return HEAD_FAULT_LENGTH;
	if (cursor_literal(&value, ","))
		return HEAD_FAULT_LENGTH_TWICE;
	if (!cursor_is_empty(&value))
		return HEAD_FAULT_LENGTH;
	*body = (struct message_body){ .framing = MESSAGE_LENGTH,
		.length = length };
	return HEAD_FAULT_NONE;
}

bool
head_may_trail(struct cursor name)
{
	static const char *const names[] = { "Age", "Authorization",
		"Cache-Control", "Connection", "Content-Encoding",
		"Content-Length", "Content-Range", "Content-Type", "Cookie",
		"Date", "Expect", "Expires", "Host", "Keep-Alive", "Location",
		"Max-Forwards", "Pragma", "Proxy-Authenticate",
		"Proxy-Authorization", "Proxy-Connection", "Range",
		"Retry-After", "Set-Cookie", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "Vary", "WWW-Authenticate" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (header_is(name, names[i]))
			return false;
	return true;
}
