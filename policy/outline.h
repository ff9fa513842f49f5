/*
 * outline - a region in words: what is asked for, and what is left out.
 */
#ifndef POLICY_OUTLINE_H
#define POLICY_OUTLINE_H

#include "policy/region.h"

/*
 * "host *.example.com but not a.example.com; port 443; methods GET", without
 * a period.  What fills out is cut there.
 */
void outline_region(const struct region *region, struct cursor_writer *out);

#endif
