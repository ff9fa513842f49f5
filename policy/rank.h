/*
 * rank - which of two matching allow rules is the more specific one, and so
 * supplies the settings.
 *
 * An exact name or an address before a glob before a suffix; then the longest
 * literal path; then a list of methods; then the longer suffix or prefix.
 */
#ifndef POLICY_RANK_H
#define POLICY_RANK_H

#include "policy/hostmatch.h"
#include "schema/address.h"
#include "schema/limits.h"

#include <stdint.h>

/* How specific the pattern is that found a rule; a larger one is more so. */
uint32_t rank_of_host(const struct hostmatch *match);
uint32_t rank_of_cidr(const struct cidr *cidr);

/* path is the literal length of the path that matched, or 0. */
uint32_t rank_of_rule(uint32_t target, size_t path, bool methods);

#endif
