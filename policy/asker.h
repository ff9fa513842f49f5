/*
 * asker - a program, or a message, that conditions on one leave.
 *
 * Written as the words of a question (policy/question); nothing is written
 * where an unknown program, or no message at all, is what they leave.
 */
#ifndef POLICY_ASKER_H
#define POLICY_ASKER_H

#include "schema/attr.h"

struct choice;
struct cursor_writer;

/* STATUS_NOT_FOUND when they leave none, STATUS_FULL, STATUS_NO_MEMORY. */
int asker_sample_program(const struct choice *choice, struct cursor_writer *out)
    MUST_CHECK;
int asker_sample_message(const struct choice *choice, struct cursor_writer *out)
    MUST_CHECK;

#endif
