/*
 * sensitive - the names in a workspace that are more than files.
 *
 * Secrets are for their owner's eyes: keys, tokens, state that holds them.
 * Watched names are settings that programs outside the sandbox execute or
 * obey later: hooks, editors' and agents' configuration.  Whoever writes them
 * decides what runs on the machine, whether they existed before or not.
 *
 * Pure.  Paths are relative to the workspace, plain, and compared as bytes.
 */
#ifndef GATEWAY_FILES_SENSITIVE_H
#define GATEWAY_FILES_SENSITIVE_H

#include <stdbool.h>

/* One of these must stand in the file, unless there is none. */
struct sensitive_needles {
	const char *list[4];
};

/*
 * Whether a file of this name (the last part of a path) is a secret.  Lends
 * what must stand in it; NULL is fine.
 */
bool sensitive_is_secret(
    const char *name, const struct sensitive_needles **ret);

/* Names that are secrets whatever stands in them; ends with NULL. */
extern const char *const sensitive_exact[];

/* Whether what is at path, or above it, is watched. */
bool sensitive_is_watched(const char *path);

#endif
