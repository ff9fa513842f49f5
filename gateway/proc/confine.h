/*
 * confine - a program of ours gives up what it needs no longer, in named
 * stages, before it reads a byte that is not ours.
 *
 *	private   no image of its memory, nobody traces it, no new privileges
 *	walled    no file but what is open, or lies in one folder (Landlock);
 *	          who needs no network, no TCP port either
 *	listed    no system call but those of its list (seccomp)
 *
 * There is one list a program; a call that is not in it fails with EPERM, and
 * one that no program of ours has an honest use for ends the process.  All
 * three hold for good, and for every thread.
 */
#ifndef GATEWAY_PROC_CONFINE_H
#define GATEWAY_PROC_CONFINE_H

#include "schema/problem.h"

enum confine_program {
	CONFINE_BROKER,
	CONFINE_GATEWAY, /* keeps sockets of the internet, and makes more */
	CONFINE_FETCH, /* likewise, with libcurl in it */
	CONFINE_LOOKOUT, /* reads files anywhere, and changes none */
	CONFINE_WRITER, /* SQLite in one folder, and who connects there */
	CONFINE_KEEPER, /* the same, and nobody connects */
	CONFINE_PROGRAM_COUNT
};

/* The first stage alone; STATUS_PROBLEM when it cannot be done. */
int confine_private(struct problem *reterr) MUST_CHECK;

/*
 * All of them.  folder is where its program may still handle files, or -1.
 * Under a sanitizer, which calls and opens what it likes, only the first.
 */
int confine_enter(enum confine_program program, int folder,
    struct problem *reterr) MUST_CHECK;

#endif
