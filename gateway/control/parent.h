/*
 * parent - the channel to whoever started this gateway.
 *
 * A table says which message is legal when: layers, then one BEGIN; later
 * layers and a SWAP for each change of the policy, answers to questions, and
 * one STOP.  Anything else, or the parent's end, ends the run: flows are
 * closed, their rows are put, and the loop stops.
 */
#ifndef GATEWAY_CONTROL_PARENT_H
#define GATEWAY_CONTROL_PARENT_H

#include "schema/attr.h"

struct loop;
struct parent;
struct sink;

struct parent_channels {
	int parent, handoff;
	int lookout; /* -1: nobody tells who connects */
	int broker; /* -1: there are no credentials */
};

/*
 * Takes the channels, also on failure; the launcher's is read only once the
 * run has begun.  NULL: no memory.
 */
struct parent *parent_new(struct loop *loop, struct sink *sink,
    const struct parent_channels *channels) MUST_CHECK;
void parent_free(struct parent *parent);

/* What to exit with: 0 when the run was stopped in order. */
int parent_exit_code(const struct parent *parent);

#endif
