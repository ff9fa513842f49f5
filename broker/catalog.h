/*
 * catalog - the credential file: names, kinds, sources, hosts, and the URLs
 * that errands may go to.
 *
 * Reading it opens nothing.  Afterwards catalog_need() marks what a run is
 * to have, catalog_want() names where the secrets of these come from, and
 * catalog_give() reads them in.  What is not needed is never asked for.
 */
#ifndef BROKER_CATALOG_H
#define BROKER_CATALOG_H

#include "broker/credential.h"
#include "schema/cursor.h"
#include "schema/errand.h"
#include "schema/problem.h"

struct agents;
struct catalog;

/* Every problem is told, with its place.  STATUS_PROBLEM. */
int catalog_load(struct cursor text, struct catalog **ret,
    struct problems *reterr) MUST_CHECK;
void catalog_free(struct catalog *catalog);

size_t catalog_count(const struct catalog *catalog);

/* By number, or by name; NULL when there is none.  Borrows. */
const struct credential *catalog_at(
    const struct catalog *catalog, size_t number);
const struct credential *catalog_find(
    const struct catalog *catalog, const char *name);

/* Which number it has: its slot in the page is one more. */
size_t catalog_number(
    const struct catalog *catalog, const struct credential *credential);

/* STATUS_NOT_FOUND when the file has no such credential. */
int catalog_need(struct catalog *catalog, const char *name) MUST_CHECK;
void catalog_need_all(struct catalog *catalog);
bool catalog_is_needed(
    const struct catalog *catalog, const struct credential *credential);

/* The next secret that is needed and not there, from number *at on. */
bool catalog_want(
    const struct catalog *catalog, size_t *at, struct brokerage_want *ret);

/*
 * Reads a secret from fd, which stays the caller's; or tells that it cannot be
 * had.  Problems get the place of the source.  STATUS_REFUSED for a number
 * that nothing was wanted for.
 */
int catalog_give(struct catalog *catalog, size_t number, int fd,
    struct problems *reterr) MUST_CHECK;
int catalog_lack(struct catalog *catalog, size_t number,
    const struct problem *problem, struct problems *reterr) MUST_CHECK;

/* Our own name as an issuer, or NULL. */
const char *catalog_issuer(const struct catalog *catalog);

/* Who runs may be.  Borrows. */
const struct agents *catalog_agents(const struct catalog *catalog);

/* Where errands may go, by number; false behind the last.  Borrows. */
bool catalog_endpoint(
    const struct catalog *catalog, size_t number, struct errand_endpoint *ret);

#endif
