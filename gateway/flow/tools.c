#include "gateway/flow/tools.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/judge.h"
#include "gateway/flow/record.h"
#include "gateway/proto/jsonrpc.h"
#include "policy/rule.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 4096
#define WORDS_MAX 128

struct tools {
	unsigned char *body;
	size_t length, room, sent;
	enum fact_message kind; /* of the messages, if there are any */
	struct jsonrpc messages;
	char words[WORDS_MAX]; /* of the one that was judged last */
};

bool
tools_are_wanted(const struct verdict *verdict)
{
	return (verdict->unknown >> TERM_MCP & 1) != 0 ||
	       (verdict_allows(verdict) && verdict_logs_mcp(verdict));
}

struct tools *
tools_new(void)
{
	return calloc(1, sizeof(struct tools));
}

void
tools_free(struct tools *tools)
{
	if (tools == NULL)
		return;
	free(tools->body);
	free(tools);
}

int
tools_take(struct tools *tools, struct cursor bytes)
{
	size_t room = tools->room == 0 ? FIRST_ROOM : tools->room;
	unsigned char *body;

	while (room - tools->length < bytes.left)
		room *= 2;
	if (room > tools->room) {
		body = realloc(tools->body, room);
		if (body == NULL)
			return STATUS_NO_MEMORY;
		tools->body = body;
		tools->room = room;
	}
	memcpy(tools->body + tools->length, bytes.at, bytes.left);
	tools->length += bytes.left;
	return tools->length > LIMIT_MCP_BODY ? STATUS_TOO_LONG : STATUS_OK;
}

size_t
tools_room(const struct tools *tools)
{
	/* One byte more than it may be tells that it is too long. */
	return tools->length > LIMIT_MCP_BODY
		   ? 0
		   : LIMIT_MCP_BODY + 1 - tools->length;
}

void
tools_read(struct tools *tools, const struct request *request)
{
	struct cursor body = cursor_of(tools->body, tools->length);

	tools->kind = FACT_MESSAGE_UNKNOWN;
	tools->messages.count = 0;
	/* What is packed is not looked into. */
	if (header_count(&request->header, "Content-Encoding") > 0)
		return;
	if (jsonrpc_parse(body, &tools->messages) != STATUS_OK) {
		tools->messages.count = 0;
		return;
	}
	tools->kind =
	    tools->messages.count > 0 ? FACT_MESSAGE_MCP : FACT_MESSAGE_NONE;
}

static void
name(char words[WORDS_MAX], const struct jsonrpc_message *message)
{
	int length = snprintf(words, WORDS_MAX, "%s%s%s", message->method,
	    message->tool[0] == '\0' ? "" : " of ", message->tool);

	/* Cut at its end when it is long. */
	if (length < 0)
		words[0] = '\0';
}

static enum reason
judge_one(const struct flow *flow, const struct judge_question *question,
    struct verdict *ret)
{
	enum reason reason = judge_message(flow, question, ret);

	/* The question would show the request, not what is in it. */
	if (ret->kind == VERDICT_ASK)
		ret->kind = VERDICT_DENY;
	return reason;
}

enum reason
tools_judge(const struct tools *tools, const struct flow *flow,
    const struct request *request, const struct urlpath *path,
    struct verdict *ret, const char **ret_words)
{
	struct judge_question question = {
		.request = request, .path = path, .message = tools->kind
	};
	enum reason reason;

	*ret_words = "";
	if (tools->kind == FACT_MESSAGE_UNKNOWN)
		*ret_words = tools->length > LIMIT_MCP_BODY
				 ? "the body is too long to be looked into"
				 : "the body does not read as JSON-RPC";
	if (tools->kind != FACT_MESSAGE_MCP)
		return judge_one(flow, &question, ret);
	for (size_t i = 0; i < tools->messages.count; i++) {
		const struct jsonrpc_message *message =
		    &tools->messages.messages[i];

		question.method = cursor_of_text(message->method);
		question.tool = cursor_of_text(message->tool);
		reason = judge_one(flow, &question, ret);
		if (reason == REASON_NONE)
			continue;
		name(((struct tools *)unconst(tools))->words, message);
		*ret_words = tools->words;
		return reason;
	}
	return REASON_NONE;
}

void
tools_record(const struct tools *tools, struct flow *flow, const uint8_t *id,
    const struct verdict *verdict)
{
	for (size_t i = 0; i < tools->messages.count; i++) {
		const struct jsonrpc_message *message =
		    &tools->messages.messages[i];
		struct record_call call = { .id = id,
			.method = cursor_of_text(message->method),
			.tool = cursor_of_text(message->tool),
			.verdict = verdict };

		record_call(flow, &call);
	}
}

struct cursor
tools_left(const struct tools *tools)
{
	return cursor_of(
	    tools->body + tools->sent, tools->length - tools->sent);
}

void
tools_sent(struct tools *tools, size_t length)
{
	tools->sent += length;
	if (tools->sent < tools->length)
		return;
	free(STEAL(tools->body));
	tools->length = 0;
	tools->room = 0;
	tools->sent = 0;
}
