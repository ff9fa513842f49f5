/*
 * uplink - the house's own proxy, as --via names it.
 */
#ifndef GATEWAY_CLI_UPLINK_H
#define GATEWAY_CLI_UPLINK_H

#include "schema/order.h"

struct channel;
struct needs;

/*
 * Reads "http://HOST:PORT".  A password in it is refused: a command line is
 * for everybody to see.
 */
int uplink_read(const char *text, struct order_via *ret, struct problem *reterr)
    MUST_CHECK;

/* The credential of its login. */
int uplink_log_in(const char *credential, struct order_via *ret,
    struct problem *reterr) MUST_CHECK;

/* A login without a proxy is a mistake. */
int uplink_check(const struct order_via *via, struct problem *reterr)
    MUST_CHECK;

/* Adds its credential, if it has one, to those that the broker is to have. */
int uplink_need(const struct order_via *via, struct needs *needs) MUST_CHECK;

/* As an ORDER_VIA, when there is a proxy. */
int uplink_send(const struct order_via *via, struct channel *gateway)
    MUST_CHECK;

#endif
