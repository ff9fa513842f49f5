/*
 * offer - the launcher's two words with the gateway: here are the listeners;
 * here is what the sandbox shall trust.
 */
#ifndef GATEWAY_LAUNCH_OFFER_H
#define GATEWAY_LAUNCH_OFFER_H

#include "schema/attr.h"
#include "schema/handoff.h"
#include "schema/problem.h"

/* fds: HANDOFF_FD_COUNT of them, which stay the caller's. */
int offer_send(int gateway, const int *fds, struct problem *reterr) MUST_CHECK;

/* Takes one frame, which must be what to trust; gives its descriptors. */
int offer_answer(int gateway, int ret_trust[HANDOFF_TRUST_COUNT],
    struct problem *reterr) MUST_CHECK;

#endif
