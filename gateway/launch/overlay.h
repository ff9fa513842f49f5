/*
 * overlay - the workspace under a layer that takes what is written.
 *
 * At the bottom lies the workspace itself, over it perhaps sealed layers, on
 * top the folder of this run with "upper" and "work" in it.  The workspace is
 * only read; what the run changed stands in "upper", for files/changes to
 * read once the run is over.
 *
 * What is not for the sandbox is hidden by whiteouts in "upper", made before
 * the overlay is.  They hold by name: a file that the host replaces stays
 * hidden, and one that it makes later, under a usual name at the top, is
 * hidden as well.  Each is noted in the folder's file "hidden", one path and
 * a NUL, because to those who read "upper" it looks like a deletion.
 *
 * Everything runs inside, before the old root goes.
 */
#ifndef GATEWAY_LAUNCH_OVERLAY_H
#define GATEWAY_LAUNCH_OVERLAY_H

#include "schema/attr.h"
#include "schema/problem.h"

struct masks_listener;
struct mounts;
struct plan;
struct sources;

/* Mounts the plan's workspace, which has folders, into the view. */
int overlay_mount(struct sources *sources, const struct plan *plan,
    struct mounts *mounts, const struct masks_listener *listener,
    struct problem *reterr) MUST_CHECK;

#endif
