/*
 * request - the head of a request as it is judged, whichever version it came
 * in.
 *
 * What governs the connection or frames the message has been read into this
 * struct and taken out of the list: Host, Content-Length, Transfer-Encoding,
 * Connection and every field it names, Keep-Alive, the Proxy-* fields of RFC
 * 9110, TE, Upgrade and HTTP2-Settings.
 * So header holds the end-to-end fields in the order they were sent, and a
 * credential put into it later cannot be taken out by "Connection:
 * authorization".
 *
 * Cursors borrow from the buffer that the head was read from.
 */
#ifndef GATEWAY_PROTO_REQUEST_H
#define GATEWAY_PROTO_REQUEST_H

#include "gateway/proto/authority.h"
#include "gateway/proto/header.h"
#include "gateway/proto/message.h"

/* RFC 9112 section 3.2; authority-form is for proxies. */
enum request_form {
	REQUEST_ORIGIN, /* "/path?query" */
	REQUEST_ABSOLUTE, /* "http://host/path?query" */
	REQUEST_ASTERISK, /* "*", for OPTIONS only */
	REQUEST_AUTHORITY /* "host:port", for CONNECT only */
};

enum request_scheme {
	REQUEST_SCHEME_NONE, /* not said, but in absolute-form and HTTP/2 */
	REQUEST_HTTP,
	REQUEST_HTTPS
};

struct request {
	char method[LIMIT_HTTP_METHOD + 1];
	enum request_form form;
	enum request_scheme scheme;
	struct cursor path; /* as sent; "/" if it was left out, or "*" */
	struct cursor query; /* as sent, behind the '?' */
	bool has_query; /* "/?" has one, and it is empty */
	struct authority authority; /* unset: HTTP/1.0 without a Host */
	enum message_version version;
	bool keep_alive; /* the client will take another response here */
	bool expects_continue; /* Expect stays in the header */
	bool takes_trailers; /* "TE: trailers", which gRPC insists on */
	struct cursor upgrade; /* one token that is not h2c, or empty */
	struct message_body body;
	struct header header;
	size_t length; /* bytes of the head */
};

/* Whether a body follows. */
bool request_has_body(const struct request *request);

/*
 * A copy that borrows nothing: free() it.  NULL when there is no memory.
 */
struct request *request_copy(const struct request *request) MUST_CHECK;

/* Whether the method is one of RFC 9110's idempotent ones (section 9.2.2). */
bool request_is_idempotent(const struct request *request);

#endif
