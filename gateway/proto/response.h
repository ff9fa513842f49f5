/*
 * response - the head of a response, whichever version it came in.
 *
 * As in a request, what governs the connection or frames the message is in
 * this struct and not in the list.  One exception: where the Content-Length
 * says nothing about this message (an answer to HEAD, a 304) it stays a field.
 *
 * Cursors borrow from the buffer that the head was read from.
 */
#ifndef GATEWAY_PROTO_RESPONSE_H
#define GATEWAY_PROTO_RESPONSE_H

#include "gateway/proto/header.h"
#include "gateway/proto/message.h"

struct response {
	uint16_t status;
	struct cursor reason; /* may be empty */
	enum message_version version;
	bool keep_alive; /* the server will take another request here */
	struct cursor upgrade; /* what a 101 switches to, or empty */
	struct message_body body;
	struct header header;
	size_t length; /* bytes of the head */
};

/* 1xx but 101: another response to the same request follows. */
bool response_is_interim(const struct response *response);

/* The usual reason phrase of a status; "Status" for what is not known. */
const char *response_phrase(unsigned status);

#endif
