/*
 * prompt - a question put to the person at the terminal.
 *
 * Where the terminal is lent to the sandboxed command, its keys are the
 * command's: there the question is only shown, with the words that answer it
 * from another terminal.  Where the command has no terminal and we are in the
 * foreground of one, it is asked, one question at a time, and answered by
 * typing "yes" in full; everything else is a no.
 *
 * What is shown is what was judged, in canonical form; bytes that a terminal
 * could take for more than text are escaped.
 */
#ifndef GATEWAY_CLI_PROMPT_H
#define GATEWAY_CLI_PROMPT_H

#include "schema/attr.h"

#include <stdbool.h>

struct approval_question;
struct loop;
struct prompt;

typedef void prompt_call(const char *id, bool yes, void *arg);

/* Without a terminal it does nothing.  NULL: no memory. */
struct prompt *prompt_new(struct loop *loop, prompt_call *on_answer, void *arg)
    MUST_CHECK;
void prompt_free(struct prompt *prompt);

/* Borrows question until prompt_drop() of its id. */
void prompt_add(
    struct prompt *prompt, const struct approval_question *question);

/* It is over, however; the word for it is shown if it was being asked. */
void prompt_drop(struct prompt *prompt, const char *id, const char *word);

/* The request on one line: "POST https://a.test/x?y", escaped. */
#define PROMPT_LINE_MAX 16384
void prompt_print_request(
    const struct approval_question *question, char out[PROMPT_LINE_MAX]);

/* Who asked: a program's path, escaped alike, or "unknown". */
void prompt_print_asker(
    const struct approval_question *question, char out[PROMPT_LINE_MAX]);

/* What the sandbox says for itself, escaped: nobody's words but its own. */
void prompt_print_words(
    const struct approval_question *question, char out[PROMPT_LINE_MAX]);

#endif
