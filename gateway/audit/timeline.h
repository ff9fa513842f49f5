/*
 * timeline - everything one run did, in the order it was recorded.
 *
 * One question, with the parameter sbx: requests and their ends, names asked
 * for, programs, tokens, approvals and the run's own rows, each with the time
 * since the run began.
 */
#ifndef GATEWAY_AUDIT_TIMELINE_H
#define GATEWAY_AUDIT_TIMELINE_H

#include "gateway/audit/across.h"

extern const struct question timeline_lines; /* for people: few columns */
extern const struct question timeline_rows; /* for programs: all of v_event */

#endif
