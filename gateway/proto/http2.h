/*
 * http2 - heads and trailers of HTTP/2, read as strictly as those of HTTP/1
 * and written anew (RFC 9113 section 8).
 *
 * A head is gathered field by field as HPACK gives them, then read as a
 * whole.  What two readers could read differently is refused: pseudo-headers
 * that are unknown, twice, missing or behind a field; names in upper case;
 * fields about the connection; an authority that a Host disagrees with.
 * Crumbs of a cookie are joined (section 8.2.3).
 *
 * An extended CONNECT (RFC 8441) becomes what it means in HTTP/1: a GET that
 * asks for an upgrade, so that one rule judges both.
 *
 * Pure.
 */
#ifndef GATEWAY_PROTO_HTTP2_H
#define GATEWAY_PROTO_HTTP2_H

#include "gateway/proto/head_fault.h"
#include "gateway/proto/request.h"
#include "gateway/proto/response.h"

enum http2_pseudo {
	HTTP2_METHOD,
	HTTP2_SCHEME,
	HTTP2_AUTHORITY,
	HTTP2_PATH,
	HTTP2_PROTOCOL,
	HTTP2_STATUS,
	HTTP2_PSEUDO_COUNT
};

struct http2_head {
	struct cursor_writer bytes; /* what the fields borrow from */
	struct cursor pseudo[HTTP2_PSEUDO_COUNT]; /* at: NULL, not there */
	struct header header;
	enum head_fault fault; /* the first; later fields are passed over */
	struct cursor wrong; /* the field that it is about, as "name: value" */
};

/* Begins an empty head whose text is kept in size bytes. */
void http2_head_init(struct http2_head *head, void *bytes, size_t size);

/* Adds a field, copied.  What is wrong with it is told when it is read. */
void http2_head_add(
    struct http2_head *head, struct cursor name, struct cursor value);

/*
 * Reads what was gathered; ended when no body follows.  ret borrows from the
 * head's bytes, and is written on HEAD_FAULT_NONE only.
 */
enum head_fault http2_request_read(
    const struct http2_head *head, bool ended, struct request *ret) MUST_CHECK;

/* The same for a response to a request with this method. */
enum head_fault http2_response_read(const struct http2_head *head,
    const char *method, bool ended, struct response *ret) MUST_CHECK;

/* Trailers; fields that may not be any are dropped (RFC 9110 section 6.5.1). */
enum head_fault http2_trailers_read(
    const struct http2_head *head, struct header *ret) MUST_CHECK;

/*
 * Writes what there is of a head that could not be read as HTTP/1.1 would have
 * it, for an excerpt of it; what does not fit is left off.
 */
void http2_head_show(const struct http2_head *head, struct cursor_writer *out);

/* ---- and the other way ---- */

#define HTTP2_LIST_MAX (LIMIT_HTTP_FIELDS + 8)

/* A head as HPACK takes it: pseudo-headers first, names as they are. */
struct http2_list {
	size_t count;
	struct header_field fields[HTTP2_LIST_MAX];
	unsigned char text[LIMIT_HOST + 64 + LIMIT_HTTP_URI];
	struct cursor_writer out; /* over text */
};

/*
 * path is the canonical one that was judged.  The list borrows from all of
 * its arguments.  request->authority must be set; scheme is what is spoken
 * outside.  A request that asks for an upgrade becomes an extended CONNECT.
 */
void http2_request_list(const struct request *request, struct cursor path,
    enum request_scheme scheme, struct http2_list *ret);
void http2_response_list(
    const struct response *response, struct http2_list *ret);
void http2_trailers_list(const struct header *trailers, struct http2_list *ret);

#endif
