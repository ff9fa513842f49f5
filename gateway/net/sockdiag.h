/*
 * sockdiag - the inode and user of a socket in the sandbox, asked of the
 * kernel (sock_diag(7)).
 *
 * The netlink socket was born in the sandbox's network namespace, so that is
 * where the kernel looks.  It answers before send() returns: nothing waits.
 */
#ifndef GATEWAY_NET_SOCKDIAG_H
#define GATEWAY_NET_SOCKDIAG_H

#include "schema/address.h"

#include <stdint.h>

/* The descriptor is borrowed; the number is of the last question. */
struct sockdiag {
	int fd;
	uint32_t sequence;
};

struct sockdiag_socket {
	uint32_t inode; /* 0: nobody holds it any more */
	uint32_t uid; /* of who made it, outside */
};

enum sockdiag_transport {
	SOCKDIAG_TCP,
	SOCKDIAG_UDP
};

/*
 * The socket whose own end is from and whose other end is to; for UDP also
 * one that is not connected.  STATUS_NOT_FOUND when there is none,
 * STATUS_SYSTEM when the kernel cannot be asked.
 */
int sockdiag_find(struct sockdiag *diag, enum sockdiag_transport transport,
    const struct endpoint *from, const struct endpoint *to,
    struct sockdiag_socket *ret) MUST_CHECK;

#endif
