/*
 * kinship - which process a thread is of, whose child that is, its name and
 * age.
 *
 * Everything is best effort, as all that /proc tells.  A kernel that answers
 * to a descriptor of the process (Linux 6.13) is asked that way, which costs
 * less than half of a file of /proc.
 */
#ifndef GATEWAY_LAUNCH_KINSHIP_H
#define GATEWAY_LAUNCH_KINSHIP_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct kinship {
	int proc; /* borrowed, of procfs_open() */
	bool by_file; /* the kernel cannot be asked otherwise */
};

struct kin {
	pid_t pid, parent;
};

struct life {
	/* When it began, by clock_boottime_us(); up to a hundredth of a second
	 * too early. */
	int64_t since_us;
	char name[64]; /* as the kernel has it, 15 bytes of a program's */
};

struct kinship kinship_of(int proc);

/* Numbers are those that we see; false for one that is gone. */
bool kinship_find(struct kinship *kinship, pid_t tid, struct kin *ret)
    MUST_CHECK;

/* False for one that is gone. */
bool kinship_life(const struct kinship *kinship, pid_t pid, struct life *ret)
    MUST_CHECK;

#endif
