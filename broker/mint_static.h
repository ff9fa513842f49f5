/*
 * mint_static - a stored key as it is, for its hosts only.
 *
 *	bearer	"Authorization: Bearer KEY", or another word in its "scheme"
 *	basic	"Authorization: Basic base64(user:KEY)"
 *	header	a field of its own, as in "x-api-key: KEY"
 *	query	a key of the query, as in "?key=KEY"
 */
#ifndef BROKER_MINT_STATIC_H
#define BROKER_MINT_STATIC_H

#include "broker/mint.h"

extern const struct mint mint_bearer;
extern const struct mint mint_basic;
extern const struct mint mint_header;
extern const struct mint mint_query;
extern const struct mint mint_placeholder;

#endif
