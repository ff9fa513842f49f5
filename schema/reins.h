/*
 * reins - what a parent tells the launcher of its run, and hears back.
 *
 * Down: REINS_GO once; then, each with a number that its answers carry,
 * PAUSE, RESUME, STOP and EXEC, and DROP for an EXEC that nobody waits for.
 * Up: REINS_DONE for what was done or could not be; REINS_TERMINAL and
 * REINS_EXITED for an EXEC.
 */
#ifndef SCHEMA_REINS_H
#define SCHEMA_REINS_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/problem.h"

/* Standard input, output and error. */
#define REINS_EXEC_FDS 3

/* PAUSE, RESUME, STOP, DROP, TERMINAL: the number alone. */
void reins_number_write(uint32_t number, struct cursor_writer *out);
int reins_number_read(struct cursor body, uint32_t *ret) MUST_CHECK;

/* Behind its number, in REINS_EXEC; alone in DESK_EXEC. */
struct reins_exec {
	bool terminal; /* one of its own, in the place of the descriptors */
	uint16_t rows, columns;
	char cwd[LIMIT_PATH]; /* empty: that of the run */
	struct cursor argv; /* count blocks without a NUL inside */
	uint16_t count; /* at least one */
};
void reins_exec_write(const struct reins_exec *exec, struct cursor_writer *out);
int reins_exec_read(struct cursor body, struct reins_exec *ret) MUST_CHECK;

/* REINS_DONE; without text all went well. */
struct reins_done {
	uint32_t number;
	struct problem problem;
};
void reins_done_write(const struct reins_done *done, struct cursor_writer *out);
int reins_done_read(struct cursor body, struct reins_done *ret) MUST_CHECK;

struct reins_exited {
	uint32_t number, code; /* as exeat run has it */
};
void reins_exited_write(
    const struct reins_exited *exited, struct cursor_writer *out);
int reins_exited_read(struct cursor body, struct reins_exited *ret) MUST_CHECK;

#endif
