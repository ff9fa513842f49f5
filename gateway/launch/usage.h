/*
 * usage - what a sandbox uses, seen through its own /proc from outside.
 *
 * It is what keeps a memory limit where no control group does, and what tells
 * an idle sandbox from a busy one.  A sample costs some microseconds a
 * process.
 */
#ifndef GATEWAY_LAUNCH_USAGE_H
#define GATEWAY_LAUNCH_USAGE_H

#include "schema/attr.h"

#include <stdint.h>

struct usage {
	uint64_t memory; /* bytes, what is shared counted once a process */
	uint64_t processes, stopped; /* of them, or dead already */
	uint64_t ticks; /* of processor time, of those that are there */
};

/* proc is a descriptor of the sandbox's /proc. */
int usage_sample(int proc, struct usage *ret) MUST_CHECK;

/* Exactly: what is shared is shared out.  Some hundred microseconds each. */
int usage_memory(int proc, uint64_t *ret) MUST_CHECK;

/* The bytes on disk below a folder. */
int usage_disk(const char *folder, uint64_t *ret) MUST_CHECK;

#endif
