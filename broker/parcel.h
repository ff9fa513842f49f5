/*
 * parcel - an errand in the making, with every byte that it refers to.
 *
 * What is put in lies in memory that is locked and wiped.  Nothing is checked
 * on the way: a parcel that has overflowed gives no errand.
 */
#ifndef BROKER_PARCEL_H
#define BROKER_PARCEL_H

#include "schema/errand.h"
#include "schema/json.h"

struct parcel;

/* NULL without memory, and every call below takes that. */
struct parcel *parcel_new(uint16_t endpoint, enum errand_method method)
    MUST_CHECK;
void parcel_free(struct parcel *parcel);

/* A field of the head; the value is first, then second, put together. */
void parcel_field(struct parcel *parcel, const char *name, const char *first,
    struct cursor second);

/* "Authorization: Basic" of both as RFC 6749 section 2.3.1 wants them. */
void parcel_basic(struct parcel *parcel, const char *user, struct cursor key);

/* A value wanted of the answer; both are literals that outlive the parcel. */
void parcel_want(struct parcel *parcel, const char *name, const char *path);

/*
 * A pair of a form in the body, encoded; the first makes it a form.  One
 * without text (at NULL) is left out.
 */
void parcel_pair(struct parcel *parcel, const char *key, struct cursor value);

/* A body of JSON, to be written by whoever asks for it; then closed. */
struct json *parcel_json(struct parcel *parcel);

/* Borrows from the parcel; NULL when it has overflowed. */
struct errand *parcel_errand(struct parcel *parcel) MUST_CHECK;

#endif
