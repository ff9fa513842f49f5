/*
 * tools - a request's body held back until the calls in it are judged: MCP
 * over HTTP.
 *
 * Only where a rule looks at them, or wants them recorded, is a body held, at
 * most LIMIT_MCP_BODY bytes.  Every message of a batch must be allowed.  A
 * body that does not read as JSON-RPC is unknown, and unknown never opens
 * anything.  A person is not asked about messages: where a rule would, it is
 * refused.
 */
#ifndef GATEWAY_FLOW_TOOLS_H
#define GATEWAY_FLOW_TOOLS_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/reason.h"

#include <stdbool.h>
#include <stdint.h>

struct flow;
struct request;
struct tools;
struct urlpath;
struct verdict;

/* Whether a verdict without the body is not enough. */
bool tools_are_wanted(const struct verdict *verdict);

struct tools *tools_new(void) MUST_CHECK;
void tools_free(struct tools *tools);

/*
 * Takes a piece of the body.  STATUS_TOO_LONG: it has, and what is in it
 * stays unknown; STATUS_NO_MEMORY.
 */
int tools_take(struct tools *tools, struct cursor bytes) MUST_CHECK;

/* How much more it takes. */
size_t tools_room(const struct tools *tools);

/* The body is whole: looks what is in it. */
void tools_read(struct tools *tools, const struct request *request);

/*
 * Judges every message: the strictest verdict, and its reason.  What it is
 * about stands in words, or "" when there is no single message.
 */
enum reason tools_judge(const struct tools *tools, const struct flow *flow,
    const struct request *request, const struct urlpath *path,
    struct verdict *ret, const char **ret_words);

/* One row for each message that is let through. */
void tools_record(const struct tools *tools, struct flow *flow,
    const uint8_t *id, const struct verdict *verdict);

/* What has not been sent on yet. */
struct cursor tools_left(const struct tools *tools);
/* The body itself is gone with its last byte; what was in it stays. */
void tools_sent(struct tools *tools, size_t length);

#endif
