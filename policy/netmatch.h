/*
 * netmatch - sets of ports and of address ranges.
 */
#ifndef POLICY_NETMATCH_H
#define POLICY_NETMATCH_H

#include "schema/address.h"
#include "schema/attr.h"

/* Both ends belong to it. */
struct port_range {
	uint16_t first, last;
};

/* "443" or "8000-8099"; STATUS_MALFORMED, also for port 0 and the wrong way
 * round. */
int port_range_parse(const char *text, size_t length, struct port_range *ret)
    MUST_CHECK;

bool port_ranges_hold(
    const struct port_range *ranges, size_t count, uint16_t port);

/* Whether all of the narrow ports stand in the wide ones; false if unsure. */
bool port_ranges_cover(const struct port_range *wide, size_t wide_count,
    const struct port_range *narrow, size_t narrow_count);
bool port_ranges_meet(const struct port_range *a, size_t a_count,
    const struct port_range *b, size_t b_count);

bool cidr_covers(const struct cidr *wide, const struct cidr *narrow);

/* So large that only somebody who means all of the internet would write it. */
bool cidr_is_wide(const struct cidr *cidr);

#endif
