/*
 * adopt - a launcher's handoff: listeners in, trust files out; the run begins.
 *
 * One offer is taken on this channel.  A second one, or any other frame, ends
 * it.
 */
#ifndef GATEWAY_CONTROL_ADOPT_H
#define GATEWAY_CONTROL_ADOPT_H

#include "schema/attr.h"

struct adopt;
struct engine;
struct loop;

/* Takes fd, also on failure; engine outlives it.  NULL: no memory. */
struct adopt *adopt_new(struct loop *loop, int fd, struct engine *engine)
    MUST_CHECK;
void adopt_free(struct adopt *adopt);

#endif
