/*
 * suffix - whether names below one belong to everybody.
 *
 * Asks the public suffix list that libpsl was built with: "com", "co.uk",
 * and what hosting companies give to their customers ("github.io").  A top
 * level domain that it does not know counts as one.
 */
#ifndef POLICY_SUFFIX_H
#define POLICY_SUFFIX_H

#include <stdbool.h>

/* name is in A-labels; "" is the root.  Without a list, all is public. */
bool suffix_is_public(const char *name);

#endif
