/*
 * badge - the client certificate that a connection outside presents.
 *
 * A request whose rule names one goes out over a connection that presents it,
 * and no other request does: connections with different badges are never
 * taken for one another, however alike they are else.
 */
#ifndef GATEWAY_FLOW_BADGE_H
#define GATEWAY_FLOW_BADGE_H

#include "schema/attr.h"
#include "schema/cursor.h"
#include "schema/limits.h"

#include <stdbool.h>
#include <stdint.h>

struct grants_loan;

/* All zeroes is none. */
struct badge {
	char credential[LIMIT_CREDENTIAL_NAME + 1];
	/* Of the grant: behind a revocation it is another one. */
	uint16_t slot;
	uint64_t generation;
};

/* None when nothing was lent, or something else than a certificate. */
struct badge badge_of(const struct grants_loan *loan);

/* Its text, with the key; borrows from the loan. */
struct cursor badge_text(const struct grants_loan *loan);

bool badge_is_none(const struct badge *badge);
bool badge_equals(const struct badge *a, const struct badge *b);

#endif
