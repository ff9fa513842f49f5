/*
 * kinds - every kind of credential there is.
 */
#ifndef BROKER_KINDS_H
#define BROKER_KINDS_H

#include "broker/mint.h"

/* NULL when it is none. */
const struct mint *kinds_find(const char *kind);

#endif
