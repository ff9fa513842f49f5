/*
 * userns - the process in its new namespaces, and which ids it has there.
 *
 * Inside there is one user and one group, USERNS_ID.  Outside they are the
 * ids of whoever runs the launcher; for root they are an unprivileged pair
 * that belongs to this run alone, or the workspace owner's.  Host id 0 is
 * never mapped: its owner could write to files of /proc/sys that belong to
 * the whole machine.
 */
#ifndef GATEWAY_LAUNCH_USERNS_H
#define GATEWAY_LAUNCH_USERNS_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <sys/types.h>

#define USERNS_ID 1000

struct userns_ids {
	uid_t uid; /* outside */
	gid_t gid;
	bool switched; /* we are root, and the inside must change to them */
};

struct userns_child {
	pid_t pid; /* 0 in the child */
	int pidfd;
};

/* The ids that fit whoever runs this process. */
struct userns_ids userns_ids(void);

/*
 * A child in new user, mount, pid, network, ipc, uts and cgroup namespaces.
 * Returns twice, like fork.
 */
int userns_clone(struct userns_child *ret, struct problem *reterr) MUST_CHECK;

/* Kills it with all of its namespaces, and waits until it is gone. */
void userns_end(struct userns_child *child);

/* Outside: maps the ids of child. */
int userns_map(pid_t child, const struct userns_ids *ids,
    struct problem *reterr) MUST_CHECK;

/* Inside, once mapped: becomes USERNS_ID, with all capabilities of the new
 * namespace and no other group. */
int userns_become(const struct userns_ids *ids, struct problem *reterr)
    MUST_CHECK;

/*
 * A user namespace in which the id of the workspace's owner stands for the
 * sandbox's, to mount the workspace with.  Gives a descriptor.
 */
int userns_for_owner(uid_t uid, gid_t gid, const struct userns_ids *ids,
    int *ret_fd, struct problem *reterr) MUST_CHECK;

/* Adds to a problem what usually forbids user namespaces here; returns
 * STATUS_PROBLEM. */
int userns_cure(struct problem *reterr);

#endif
