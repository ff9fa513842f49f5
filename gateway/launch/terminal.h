/*
 * terminal - the user's terminal lent to the sandboxed program, and taken
 * back whatever happens.
 *
 * The program keeps the terminal it was started on, in a process group of its
 * own that becomes the foreground: so job control works, Ctrl-C reaches the
 * program and not the launcher, and Ctrl-Z stops both.  What a shared session
 * would allow beyond that, typing into the terminal by TIOCSTI, the system
 * call filter denies.  When standard input is no terminal of ours, the
 * program gets a session of its own and no terminal at all.
 */
#ifndef GATEWAY_LAUNCH_TERMINAL_H
#define GATEWAY_LAUNCH_TERMINAL_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

struct terminal {
	bool shared; /* standard input is the terminal of our session */
	bool lent; /* and we are in its foreground, so we can lend it */
	pid_t ours; /* our process group */
	pid_t theirs; /* who was in the foreground when it stopped */
	struct termios settings; /* as they were before */
};

/* Outside, before anything is started. */
struct terminal terminal_look(void);

/* Inside, in the program to be: its group or session, and the foreground. */
int terminal_enter(const struct terminal *terminal, struct problem *reterr)
    MUST_CHECK;

/* Outside: the program stopped; take the terminal and stop like it. */
void terminal_stop(struct terminal *terminal);

/* Outside, once we go on: the terminal is theirs again. */
void terminal_resume(struct terminal *terminal);

/* Outside, at the end. */
void terminal_restore(struct terminal *terminal);

#endif
