/*
 * message - what a request and a response have in common: the version it was
 * sent in, and where its body ends.
 */
#ifndef GATEWAY_PROTO_MESSAGE_H
#define GATEWAY_PROTO_MESSAGE_H

#include <stdint.h>

enum message_version {
	MESSAGE_HTTP_1_0,
	MESSAGE_HTTP_1_1,
	MESSAGE_HTTP_2
};

enum message_framing {
	MESSAGE_NO_BODY,
	MESSAGE_LENGTH, /* Content-Length, which may be 0 */
	MESSAGE_CHUNKED,
	MESSAGE_UNTIL_CLOSE /* responses only (RFC 9112 section 6.3) */
};

struct message_body {
	enum message_framing framing;
	uint64_t length; /* of MESSAGE_LENGTH; at most INT64_MAX */
};

#endif
