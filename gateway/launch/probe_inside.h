/*
 * probe_inside - steps of a launch that are made in new namespaces, each tried
 * alone by a child that is thrown away.
 *
 * The working directory is a folder made for the overlay that is tried in it.
 */
#ifndef GATEWAY_LAUNCH_PROBE_INSIDE_H
#define GATEWAY_LAUNCH_PROBE_INSIDE_H

#include "schema/problem.h"

struct plan;

#define PROBE_LOWER "lower" /* with a file "below" in it */
#define PROBE_UPPER "upper"
#define PROBE_WORK "work"

int probe_namespaces(const struct plan *plan, struct problem *reterr)
    MUST_CHECK;
int probe_network(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_redirect(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_listeners(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_round_trip(const struct plan *plan, struct problem *reterr)
    MUST_CHECK;
int probe_view(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_proc(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_syscalls(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_record(const struct plan *plan, struct problem *reterr) MUST_CHECK;
int probe_overlay(const struct plan *plan, struct problem *reterr) MUST_CHECK;

#endif
