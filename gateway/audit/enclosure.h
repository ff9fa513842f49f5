/*
 * enclosure - the walls around a process that handles an audit: no file but in
 * the audit's folder, no system call but those of its list (proc/confine).
 *
 * What the libraries load is loaded before.
 */
#ifndef GATEWAY_AUDIT_ENCLOSURE_H
#define GATEWAY_AUDIT_ENCLOSURE_H

#include "gateway/proc/confine.h"

/* Before the audit is opened.  Nothing holds when it cannot be done. */
int enclosure_enter(enum confine_program program, const char *audit,
    struct problem *reterr) MUST_CHECK;

#endif
