/*
 * lookup - one question put to the machine's nameservers.
 *
 * Each attempt has a socket and so a port of its own, and a random number,
 * both of which the answer must hit (RFC 5452 section 4).  A nameserver that
 * does not answer in LIMIT_NAMESERVER_MS, or says that it cannot tell, is
 * followed by the next; an answer that was cut is fetched over TCP from the
 * same one (RFC 7766).  LIMIT_LOOKUP_TRIES in all.
 */
#ifndef GATEWAY_NET_LOOKUP_H
#define GATEWAY_NET_LOOKUP_H

#include "gateway/net/reply.h"
#include "schema/attr.h"

struct event_base;
struct lookup;
struct nameservers;

/*
 * What came of it: the statuses of struct reply, or STATUS_TIMEOUT.  Borrowed
 * for the call; the handle is gone when this is called.
 */
typedef void lookup_call(const struct reply *reply, void *arg);

/*
 * Calls on_reply once and never before it has returned.  Borrows servers,
 * which outlives the lookup and learns who answers.  The handle serves to
 * cancel until then.  NULL: no memory.
 */
struct lookup *lookup_start(struct event_base *base,
    struct nameservers *servers, const struct reply_question *question,
    lookup_call *on_reply, void *arg) MUST_CHECK;

/* The call will not come.  Takes NULL. */
void lookup_cancel(struct lookup *lookup);

#endif
