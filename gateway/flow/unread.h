/*
 * unread - requests that could not be read as any: a row and a page, since no
 * exchange comes of them.
 */
#ifndef GATEWAY_FLOW_UNREAD_H
#define GATEWAY_FLOW_UNREAD_H

#include "gateway/proto/head_fault.h"
#include "schema/cursor.h"

struct flow;
struct leg;

/* Puts its row, with an excerpt, and has the server leg say why. */
void unread_refuse(struct flow *flow, struct leg *server, enum head_fault fault,
    struct cursor bytes);

#endif
