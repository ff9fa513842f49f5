/*
 * trusted - what every sandbox is told to trust, and where, for people: the
 * files that are laid and the variables that name them.
 */
#ifndef GATEWAY_LAUNCH_TRUSTED_H
#define GATEWAY_LAUNCH_TRUSTED_H

#include <stdbool.h>

/* To stdout: a table, or a JSON array; false when it cannot be written. */
bool trusted_print(bool as_json);

#endif
