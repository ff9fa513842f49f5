/*
 * procfs - what /proc tells about processes of ours: who descends from whom,
 * who holds a socket, which program it is.
 *
 * Everything is best effort: a process may end, or become another program,
 * between two reads.  Numbers are those of the /proc that was opened.
 */
#ifndef GATEWAY_PROC_PROCFS_H
#define GATEWAY_PROC_PROCFS_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A descriptor for the other calls; -1 and errno. */
int procfs_open(void) MUST_CHECK;

/*
 * The processes below root, level after level, at most room of them; how
 * many.  0 also where the kernel does not tell (no CONFIG_PROC_CHILDREN).
 */
size_t procfs_below(int proc, pid_t root, pid_t *ret, size_t room);

/*
 * Whether pid holds the socket with this inode.  *hint is where to look
 * first, the number of a descriptor, and where it was found; or -1.
 */
bool procfs_holds_socket(int proc, pid_t pid, uint32_t inode, int *hint);

/*
 * The path of the program, as the process's own view has it; without the
 * " (deleted)" of a file that is gone.  False when it cannot be known or does
 * not fit.
 */
bool procfs_exe(int proc, pid_t pid, char *out, size_t size) MUST_CHECK;

/* The path behind one of its descriptors, in the same way. */
bool procfs_descriptor(int proc, pid_t pid, int fd, char *out, size_t size)
    MUST_CHECK;

/* The program's file, opened for reading; -1 and errno. */
int procfs_open_exe(int proc, pid_t pid) MUST_CHECK;

/* The command line, its words ended by NUL; how many bytes, 0 for none. */
size_t procfs_cmdline(int proc, pid_t pid, char *out, size_t size);

#endif
