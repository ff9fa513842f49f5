/*
 * probe - each step of a launch tried for real on this machine, in a child
 * that is thrown away.
 *
 * Not "is the file there" but the same functions a launch runs, so that what
 * is said to work does work, and what is refused has the same words and the
 * same cure.
 */
#ifndef GATEWAY_LAUNCH_PROBE_H
#define GATEWAY_LAUNCH_PROBE_H

#include <stdbool.h>

/*
 * Prints one line a probe, or a JSON array; true when a launch can work.
 * place is the folder in which runs keep what they write.
 */
bool probe_all(bool as_json, const char *place, int out);

#endif
