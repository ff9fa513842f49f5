/*
 * notice - a problem document (RFC 9457) about a request to exeat.internal
 * itself.  What is refused elsewhere is a refusal, which says more.
 */
#ifndef GATEWAY_FLOW_NOTICE_H
#define GATEWAY_FLOW_NOTICE_H

#include "schema/reason.h"

struct json;

struct notice {
	unsigned status; /* its phrase is the title */
	enum reason reason; /* REASON_NONE: the policy has no part in it */
	const char *rule; /* that decided, or NULL */
	const char *detail;
};

void notice_write(const struct notice *notice, struct json *j);

#endif
