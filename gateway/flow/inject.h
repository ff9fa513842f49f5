/*
 * inject - a granted credential put into a request, and nothing else of its
 * kind left there.
 *
 * Whatever the sandbox has sent in the place of the credential goes, and so
 * do other fields and keys that programs authenticate by: a key of its own,
 * beside ours or in its stead, would make the request another one than the
 * row says.  The destination is looked at again.
 */
#ifndef GATEWAY_FLOW_INJECT_H
#define GATEWAY_FLOW_INJECT_H

#include "gateway/proto/request.h"
#include "schema/grant.h"

/* Room for the query that is written anew. */
struct inject_room {
	unsigned char query[LIMIT_HTTP_URI];
};

/*
 * Gives a copy of head with the credential in it; it borrows from head, grant
 * and room.  STATUS_REFUSED when the question that the grant answers is not
 * about where this request goes; STATUS_FULL or STATUS_TOO_LONG when there is
 * no room for it.
 */
int inject_request(const struct request *head, const struct grant *grant,
    struct inject_room *room, struct request *ret) MUST_CHECK;

#endif
