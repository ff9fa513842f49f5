/*
 * datagram - UDP messages with the address they were meant for, and answers
 * sent from it.
 *
 * For a socket of one family that catches what was sent anywhere: only an
 * answer from the address that was asked is taken by the asker (RFC 1035
 * section 7.3, RFC 3542 section 6).  Messages are received many at a time, and
 * the answers given meanwhile leave together, from the socket's own port.
 */
#ifndef GATEWAY_NET_DATAGRAM_H
#define GATEWAY_NET_DATAGRAM_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct datagram;
struct endpoint;
struct event_base;

/*
 * One message; bytes and both ends are borrowed for the call.  The object may
 * be freed from here no sooner than the tick's end.
 */
typedef void datagram_call(struct cursor bytes, const struct endpoint *from,
    const struct endpoint *meant, void *arg);

/*
 * Takes fd, a bound UDP socket; it is set not to block and to tell where
 * messages were meant to go.  One longer than size is dropped, never cut.
 * NULL (errno says why) leaves fd to the caller.
 */
struct datagram *datagram_new(struct event_base *base, int fd, size_t size,
    datagram_call *on_message, void *arg) MUST_CHECK;

/* Closes the socket. */
void datagram_free(struct datagram *datagram);

/*
 * Sends bytes to an endpoint, from the address as.  STATUS_TOO_LONG beyond
 * LIMIT_DNS_MESSAGE and STATUS_REFUSED for an address of another family than
 * the socket's; otherwise it is on its way, or lost as datagrams may be when
 * the socket's buffer is full: whoever asked will ask again.
 */
int datagram_answer(struct datagram *datagram, struct cursor bytes,
    const struct endpoint *to, const struct endpoint *as) MUST_CHECK;

#endif
