/*
 * forge - packets put into a sandbox's network, as if they came from where
 * the sandbox sent something to.
 *
 * The two sockets were born in there, so nobody else ever sees what is sent:
 * answers to datagrams, whose sender's port no socket of ours could have, and
 * refusals of them.  A packet that the kernel does not take is lost, as any
 * datagram may be.
 */
#ifndef GATEWAY_FLOW_FORGE_H
#define GATEWAY_FLOW_FORGE_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct endpoint;

/* Descriptors of IPPROTO_RAW, one a family; closed by forge_done(). */
struct forge {
	int raw4, raw6;
};

void forge_done(struct forge *forge);

/* A datagram to the sandbox's end `to`, from the world's end `from`. */
void forge_answer(const struct forge *forge, struct cursor bytes,
    const struct endpoint *from, const struct endpoint *to);

/*
 * The sandbox sent length bytes from its end `from` to `to`, where nobody
 * will take them.
 */
void forge_refuse(const struct forge *forge, const struct endpoint *from,
    const struct endpoint *to, size_t length);

#endif
