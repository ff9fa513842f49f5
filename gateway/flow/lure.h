/*
 * lure - placeholders in a request: gone where the credential stands in their
 * place, and an alarm anywhere else.
 *
 * What is looked at is what would be sent, behind the placement of a
 * credential: a placeholder that is still there would reach the world.  In a
 * body, and in messages of a WebSocket, they are looked for as these pass; the
 * slice that completes one is not passed on.
 */
#ifndef GATEWAY_FLOW_LURE_H
#define GATEWAY_FLOW_LURE_H

#include "gateway/proto/request.h"
#include "schema/order.h"

struct lures;

/* The first placeholder in a head and path as they would be sent, or NULL. */
const struct order_lure *lure_in_request(
    const struct lures *lures, const struct request *head, struct cursor path);

/* A watch over one body, or over what a client sends behind a 101. */
struct lure_watch;

/* websocket: its frames are unmasked.  NULL without memory. */
struct lure_watch *lure_watch_new(const struct lures *lures, bool websocket)
    MUST_CHECK;
void lure_watch_free(struct lure_watch *watch);

/* The placeholder that these bytes complete, or NULL. */
const struct order_lure *lure_watch_see(
    struct lure_watch *watch, struct cursor bytes);

#endif
