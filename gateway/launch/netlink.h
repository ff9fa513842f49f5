/*
 * netlink - requests to the kernel built in one buffer, sent at once, and
 * their answers.
 *
 * Numbers are in the machine's order, as netlink wants them, but for the
 * attributes of nf_tables (netlink_be32).  A buffer that ran out of room is
 * told by netlink_talk(), so that everything can be put first.  Raw sockets
 * and not libmnl: thirty lines less to trust, and one library less to load in
 * the program that must start fastest.
 */
#ifndef GATEWAY_LAUNCH_NETLINK_H
#define GATEWAY_LAUNCH_NETLINK_H

#include "schema/cursor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 8192 /* our longest batch has some 3,000 */

struct netlink {
	_Alignas(8) unsigned char bytes[NETLINK_BYTES];
	size_t used, message;
	uint32_t sequence, acks;
	bool overflow;
};

void netlink_begin(struct netlink *n);

/* One message: netlink_message(), what is in it, netlink_message_end(). */
void netlink_message(struct netlink *n, uint16_t type, uint16_t flags);
void netlink_message_end(struct netlink *n);

/* The family's own header, right behind netlink's. */
void netlink_header(struct netlink *n, const void *header, size_t length);

void netlink_attribute(
    struct netlink *n, uint16_t type, const void *value, size_t length);
void netlink_string(struct netlink *n, uint16_t type, const char *text);
void netlink_be32(struct netlink *n, uint16_t type, uint32_t value);

/* Returns the place to give netlink_close(). */
size_t netlink_open(struct netlink *n, uint16_t type);
void netlink_close(struct netlink *n, size_t place);

/*
 * Sends everything to a socket of this protocol and takes the answer to each
 * message that asked for one (NLM_F_ACK).  STATUS_SYSTEM with the errno of
 * the first that failed.  Never waits: the kernel has answered by the time
 * sendmsg() returns.
 */
int netlink_talk(struct netlink *n, int protocol) MUST_CHECK;

/*
 * Sends one request for a list (NLM_F_DUMP) to a socket, and gives each answer
 * of this type, behind netlink's own header.  Statuses as netlink_talk().
 */
typedef void netlink_heard(struct cursor message, void *arg);
int netlink_dump(struct netlink *n, int fd, uint16_t type,
    netlink_heard *on_message, void *arg) MUST_CHECK;

/* Takes the next attribute of a list; false at its end, or where it breaks. */
bool netlink_next(struct cursor *attributes, uint16_t *ret_type,
    struct cursor *ret_value) MUST_CHECK;

#endif
