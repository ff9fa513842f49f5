/*
 * terminal - the user's terminal on one side, the sandbox's own on the other.
 *
 * No program in the sandbox ever holds the terminal it was started on: what
 * it prints is copied out, what is typed is copied in.  When keys and screen
 * are both that terminal it is set raw, and every key goes through: Ctrl-C
 * and Ctrl-Z are for the sandbox's own foreground.  When only some of the
 * standard descriptors are a terminal, it stays as it is, and lines go in.
 *
 * The terminal is put back at the end, when the command stops, and, by a
 * process that does nothing else, when this program is killed.  Where there
 * is no terminal nothing of this happens: descriptors are handed on.
 */
#ifndef GATEWAY_PROC_TERMINAL_H
#define GATEWAY_PROC_TERMINAL_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

struct loop;
struct terminal;

/* How the sandbox's own one is set at first. */
struct terminal_look {
	bool known; /* else the settings stay as the kernel makes them */
	struct termios settings;
	struct winsize size;
};

/*
 * Looks at the standard descriptors.  wanted is false for a terminal that is
 * never set raw.
 */
int terminal_new(bool wanted, struct terminal **ret, struct problem *reterr)
    MUST_CHECK;

/* Puts everything back, and copies what was still on its way out. */
void terminal_free(struct terminal *terminal);

/* Whether the sandbox is to have one; which descriptors it stands for, and
 * how it is to look. */
bool terminal_is_there(const struct terminal *terminal);
/* Whether its other end is still to come. */
bool terminal_waits(const struct terminal *terminal);

const bool *terminal_replaced(const struct terminal *terminal);
const struct terminal_look *terminal_look(const struct terminal *terminal);

/* Takes master, the other end of the sandbox's terminal, and begins. */
int terminal_begin(struct terminal *terminal, struct loop *loop, int master,
    struct problem *reterr) MUST_CHECK;

/* The command stopped: give the user the terminal and stop like it. */
void terminal_stop(struct terminal *terminal);

/* We go on. */
void terminal_resume(struct terminal *terminal);

/* As if the key of SIGINT, SIGQUIT or SIGTSTP were pressed in there; false
 * when the sandbox has no terminal. */
bool terminal_signal(struct terminal *terminal, int number);

/* The window has another size. */
void terminal_resize(struct terminal *terminal);

#endif
