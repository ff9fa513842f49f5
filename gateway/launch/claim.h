/*
 * claim - what a process says it is about to execute, read from its memory
 * while the kernel holds it at execve.
 *
 * It is a claim and no more: another thread, or whoever shares the memory,
 * can change it before the kernel reads it.
 */
#ifndef GATEWAY_LAUNCH_CLAIM_H
#define GATEWAY_LAUNCH_CLAIM_H

#include "schema/attr.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct remote;

struct claim {
	char path[LIMIT_CLAIM_PATH]; /* cut off where it is longer */
	char argv[LIMIT_CLAIM_BYTES]; /* words ended by NUL */
	size_t length; /* of argv */
	bool cut; /* there was more of it */
};

/* path and argv are addresses in the memory of a process that waits. */
void claim_read(
    struct remote *remote, uint64_t path, uint64_t argv, struct claim *ret);

/* Whether a process of this name and command line, as /proc has them, can be
 * what was claimed: the same words, or those behind an interpreter's. */
bool claim_matches(const struct claim *claim, const char *name,
    const char *cmdline, size_t length);

#endif
