/*
 * idn - a host as people write it, in the spelling of the wire.
 *
 * U-labels become A-labels (UTS 46, nontransitional); an A-label that no
 * U-label becomes is refused.  What is ASCII already goes to schema/hostname
 * as it is: nothing is folded into it.
 */
#ifndef POLICY_IDN_H
#define POLICY_IDN_H

#include "schema/hostname.h"

/* STATUS_MALFORMED or STATUS_TOO_LONG; STATUS_NO_MEMORY. */
int idn_to_hostname(const char *text, size_t length, struct hostname *ret)
    MUST_CHECK;

#endif
