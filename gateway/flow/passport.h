/*
 * passport - tokens for the programs of a run, asked of the broker.
 *
 *   POST /v1/token       RFC 6749 section 4.4 and RFC 8693
 *   POST /v1/introspect  RFC 7662
 *   POST /v1/revoke      RFC 7009
 *
 * Who asks is the run, and nobody else can reach it here: no client has to
 * prove itself, and what a body says of client_secret is not looked at.  The
 * broker alone knows what may be had; here are only forms read and documents
 * written.
 */
#ifndef GATEWAY_FLOW_PASSPORT_H
#define GATEWAY_FLOW_PASSPORT_H

#include "schema/cursor.h"

#include <stdbool.h>

struct flow;
struct json;
struct passport;

enum passport_page {
	PASSPORT_NONE, /* no page of these */
	PASSPORT_TOKEN,
	PASSPORT_INTROSPECT,
	PASSPORT_REVOKE
};

/* One question; on_done says that passport_answer() can be called. */
struct passport_wish {
	const struct flow *flow;
	enum passport_page page;
	bool is_form; /* the body, by its Content-Type */
	struct cursor body;
	void (*on_done)(void *arg);
	void *arg;
};

/*
 * What it is given is borrowed for the call.  on_done follows from a tick of
 * its own, unless *ret_done says that the answer is known already.  NULL: no
 * memory.
 */
struct passport *passport_ask(const struct passport_wish *wish, bool *ret_done)
    MUST_CHECK;

/* Also while it is under way: then nothing follows. */
void passport_free(struct passport *passport);

/* Writes the document; the status. */
unsigned passport_answer(const struct passport *passport, struct json *j);

#endif
