/*
 * reply - the answer to one question of `exeat audit`, printed.
 *
 * The values of a question are those of its inquiry.  That there were more
 * rows than are shown is told on stderr.
 */
#ifndef GATEWAY_CLI_REPLY_H
#define GATEWAY_CLI_REPLY_H

#include "gateway/cli/print.h"
#include "schema/problem.h"

struct inquiry;
struct query;
struct question;

/* Tells the problem on stderr; gives the exit status for it. */
int reply_failed(const struct problem *problem);

/* Into print, which the caller ends. */
int reply_print(struct query *query, const struct question *question,
    const struct inquiry *inquiry, struct print *print, struct problem *reterr)
    MUST_CHECK;

/* The same for SQL over the views, which stand over all segments. */
int reply_print_views(struct query *query, const char *sql,
    const struct inquiry *inquiry, struct print *print, struct problem *reterr)
    MUST_CHECK;

/*
 * To stdout, as JSON when the inquiry wants it, else in that form; they give
 * the exit status, COMMAND_NO for no rows.
 */
int reply_question(struct query *query, const struct question *question,
    const struct inquiry *inquiry, enum print_form form);
int reply_views(struct query *query, const char *sql,
    const struct inquiry *inquiry, enum print_form form);

#endif
