/*
 * program - what is known of a program, shared by all its connections.
 *
 * Counted: a flow holds a reference as long as it lives.
 */
#ifndef GATEWAY_FLOW_PROGRAM_H
#define GATEWAY_FLOW_PROGRAM_H

#include "schema/attr.h"
#include "schema/sighting.h"

#include <sys/queue.h>

struct program;
LIST_HEAD(program_list, program);

/*
 * The one in list that was sighted so, or a new one in it; gives a reference.
 * NULL when there is no memory.  list outlives it.
 */
struct program *program_ref_to(
    struct program_list *list, const struct sighting *sighting) MUST_CHECK;
void program_unref(struct program *program);

/* Its number means nothing.  NULL for NULL. */
const struct sighting *program_sighting(const struct program *program);

#endif
