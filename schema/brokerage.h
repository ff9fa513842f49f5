/*
 * brokerage - what a parent tells its broker, and what it hears back.
 *
 * Down: BROKER_FILE with the credential file, and BROKER_NEED for each
 * credential that the run's policy names.  Up: BROKER_WANT for each secret's
 * source; down, one by one, BROKER_HAVE with a descriptor to read it from, or
 * BROKER_LACK.  Then BROKER_BEGIN, answered by BROKER_READY, or by
 * BROKER_PROBLEM for everything that is wrong and BROKER_FAILED.
 *
 * So the broker opens no path: what it reads, its parent has opened, who knows
 * what the sandbox can see.
 */
#ifndef SCHEMA_BROKERAGE_H
#define SCHEMA_BROKERAGE_H

#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/problem.h"

/* Where a long-lived secret comes from. */
enum brokerage_source {
	BROKERAGE_FILE, /* path, from the folder of the credential file */
	BROKERAGE_FD, /* number of a descriptor of whoever started the run */
	BROKERAGE_ENV, /* a variable of theirs: for development */
	BROKERAGE_SYSTEMD, /* a file in $CREDENTIALS_DIRECTORY */
	BROKERAGE_SOURCE_COUNT
};

struct brokerage_want {
	uint16_t number; /* rises by one from 0 */
	enum brokerage_source source;
	char name[LIMIT_PATH];
};

struct brokerage_lack {
	uint16_t number;
	struct problem problem; /* text and cure */
};

enum brokerage_mode {
	BROKERAGE_RUN,
	BROKERAGE_CHECK, /* everything in the file is needed */
	BROKERAGE_MODE_COUNT
};

struct brokerage_begin {
	enum brokerage_mode mode;
	char run[LIMIT_RUN_UID + 1];
	uint8_t id[16]; /* the run's own */
	char identity[LIMIT_CREDENTIAL_NAME + 1]; /* or empty */
	char principal[LIMIT_PRINCIPAL + 1]; /* who started the run */
};

struct brokerage_variable {
	char name[LIMIT_VARIABLE_NAME + 1];
	char value[LIMIT_PLACEHOLDER + 1];
};

/* "file", "fd", "env", "systemd": as the credential file has them. */
const char *brokerage_source_name(enum brokerage_source source);

void brokerage_want_write(
    const struct brokerage_want *want, struct cursor_writer *out);
int brokerage_want_read(struct cursor body, struct brokerage_want *ret)
    MUST_CHECK;

/* BROKER_HAVE. */
void brokerage_have_write(uint16_t number, struct cursor_writer *out);
int brokerage_have_read(struct cursor body, uint16_t *ret) MUST_CHECK;

void brokerage_lack_write(
    const struct brokerage_lack *lack, struct cursor_writer *out);
int brokerage_lack_read(struct cursor body, struct brokerage_lack *ret)
    MUST_CHECK;

/* BROKER_NEED. */
void brokerage_need_write(const char *credential, struct cursor_writer *out);
int brokerage_need_read(struct cursor body, char ret[LIMIT_CREDENTIAL_NAME + 1])
    MUST_CHECK;

void brokerage_begin_write(
    const struct brokerage_begin *begin, struct cursor_writer *out);
int brokerage_begin_read(struct cursor body, struct brokerage_begin *ret)
    MUST_CHECK;

/* BROKER_REVOKE: no exchange of the run may use it any more. */
struct brokerage_revoke {
	char credential[LIMIT_CREDENTIAL_NAME + 1];
	char by[LIMIT_PRINCIPAL + 1]; /* who wants it, for the audit */
};
void brokerage_revoke_write(
    const struct brokerage_revoke *revoke, struct cursor_writer *out);
int brokerage_revoke_read(struct cursor body, struct brokerage_revoke *ret)
    MUST_CHECK;

/* BROKER_PROBLEM, with its place; BROKER_FAILED and its like have text only. */
void brokerage_problem_write(
    const struct problem *problem, struct cursor_writer *out);
int brokerage_problem_read(struct cursor body, struct problem *ret) MUST_CHECK;

void brokerage_variable_write(
    const struct brokerage_variable *variable, struct cursor_writer *out);
int brokerage_variable_read(struct cursor body, struct brokerage_variable *ret)
    MUST_CHECK;

#endif
