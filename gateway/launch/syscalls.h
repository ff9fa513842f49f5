/*
 * syscalls - the seccomp filter of the sandboxed program.
 *
 * A list of what is denied, each call with its reason, because tools of every
 * kind must run; what is newer than the list is not known to the sandbox
 * (ENOSYS), and a call of another architecture kills the program.  Arguments
 * are compared by the 32 bits the kernel itself looks at (CVE-2019-10063).
 *
 * The filter is put together here, instruction by instruction: libseccomp
 * cannot answer one way for an unknown call and another for a known one.
 */
#ifndef GATEWAY_LAUNCH_SYSCALLS_H
#define GATEWAY_LAUNCH_SYSCALLS_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>

/*
 * Needs no_new_privs.  nested leaves mounts and namespaces to the sandbox;
 * ptrace leaves it the debugging of its own processes.
 */
int syscalls_filter(bool nested, bool ptrace, struct problem *reterr)
    MUST_CHECK;

/*
 * The same, and each execve is told on *ret_listener before it goes on.
 * STATUS_REFUSED when a filter above us is told already.
 */
int syscalls_filter_told(bool nested, bool ptrace, int *ret_listener,
    struct problem *reterr) MUST_CHECK;

#endif
