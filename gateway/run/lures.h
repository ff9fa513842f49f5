/*
 * lures - the placeholders that this run's sandbox has in the place of
 * credentials.
 *
 * Each is random and only of this run, so wherever one is seen, it was sent
 * from here.  Seen where its credential does not belong it is an alarm.
 */
#ifndef GATEWAY_RUN_LURES_H
#define GATEWAY_RUN_LURES_H

#include "schema/hostname.h"
#include "schema/order.h"

struct lures;
struct needle;

/* NULL: no memory. */
struct lures *lures_new(void) MUST_CHECK;
void lures_free(struct lures *lures);

/* STATUS_FULL above LIMIT_NEEDLES, STATUS_NO_MEMORY. */
int lures_add(struct lures *lures, const struct order_lure *lure) MUST_CHECK;

/* All were added; from here on they can be looked for. */
int lures_settle(struct lures *lures) MUST_CHECK;

/* Whether there are none; lures may be NULL. */
bool lures_are_none(const struct lures *lures);

/* The first that is in text, or NULL; borrows. */
const struct order_lure *lures_find(
    const struct lures *lures, struct cursor text);

/*
 * The first that is in a name, whatever the case of its letters and wherever
 * it was cut into labels, or NULL.
 */
const struct order_lure *lures_find_in_name(
    const struct lures *lures, struct cursor name);

/* A search of its own, for a stream; its hits count as lures_at() does. */
struct needle *lures_search(const struct lures *lures) MUST_CHECK;
const struct order_lure *lures_at(const struct lures *lures, size_t which);

/* Those of that credential that are sent; how many of LIMIT_NEEDLES. */
size_t lures_values(const struct lures *lures, const char *credential,
    struct cursor ret[LIMIT_NEEDLES]);

/*
 * The one that the look-alike of a cloud's metadata service tells, or the key
 * to sign with that belongs to it; NULL: this run has no such service.
 */
const struct order_lure *lures_cloud(
    const struct lures *lures, enum order_cloud cloud, bool signs);

/* The one of that credential that is a key to sign with, or NULL. */
const struct order_lure *lures_signing(
    const struct lures *lures, const char *credential);

#endif
