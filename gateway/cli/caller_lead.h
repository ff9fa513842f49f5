/*
 * caller_lead - what a command wants of the sandbox, which the launcher does.
 */
#ifndef GATEWAY_CLI_CALLER_LEAD_H
#define GATEWAY_CLI_CALLER_LEAD_H

#include "schema/attr.h"
#include "schema/cursor.h"

#include <stdbool.h>

struct caller;
struct fdpass;
struct lead_events;

/* Frames about the sandbox; false when this is not one of them. */
bool caller_take_info(
    struct caller *caller, struct cursor body, struct fdpass *fds) MUST_CHECK;
bool caller_take_pause(
    struct caller *caller, struct cursor body, struct fdpass *fds) MUST_CHECK;
bool caller_take_resume(
    struct caller *caller, struct cursor body, struct fdpass *fds) MUST_CHECK;
bool caller_take_stop(
    struct caller *caller, struct cursor body, struct fdpass *fds) MUST_CHECK;
bool caller_take_exec(
    struct caller *caller, struct cursor body, struct fdpass *fds) MUST_CHECK;

/* What the launcher answers; the asker is a struct caller. */
extern const struct lead_events caller_lead_events;

#endif
