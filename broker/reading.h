/*
 * reading - one object of the credential file, member by member.
 *
 * Whatever is wrong is reported with its place, and reading goes on, so that
 * all of it is told in one go.  A reader gives NULL, or leaves its output
 * alone, for what is absent or was reported; whether anything was wrong the
 * report knows.
 */
#ifndef BROKER_READING_H
#define BROKER_READING_H

#include "policy/report.h"
#include "schema/errand.h"
#include "schema/limits.h"
#include "schema/problem.h"

#include <jansson.h>

/* The URLs that exeat-fetch may ask, by number: see reading_url(). */
struct reading_urls {
	struct errand_endpoint *list; /* their roots are owned */
	size_t count;
};

void reading_urls_done(struct reading_urls *endpoints);

struct reading {
	const struct report *report;
	json_t *object;
	const struct place *place; /* of the object; NULL: the whole text */
	struct reading_urls *endpoints;
};

enum reading_need {
	READING_OPTIONAL,
	READING_REQUIRED
};

/* What may name a credential or an identity. */
bool reading_is_name(const char *text);

/* Any value; NULL when it is absent. */
json_t *reading_value(
    const struct reading *reading, const char *key, enum reading_need need);

/* A text of 1 to most bytes without control characters; borrows. */
const char *reading_text(const struct reading *reading, const char *key,
    enum reading_need need, size_t most);

/* One of these words, which end with NULL: its number, or fallback. */
size_t reading_word(const struct reading *reading, const char *key,
    const char *const *words, size_t fallback);

bool reading_integer(const struct reading *reading, const char *key,
    json_int_t least, json_int_t most, json_int_t *ret);

bool reading_flag(
    const struct reading *reading, const char *key, bool fallback);

/* An array of texts with something in it; NULL when absent or reported. */
json_t *reading_texts(const struct reading *reading, const char *key,
    enum reading_need need, size_t most);

/* An object in it, to be read in the same way; place is the caller's room. */
bool reading_object(const struct reading *reading, const char *key,
    enum reading_need need, struct place *place, struct reading *ret);

/*
 * A URL that errands go to: https, a host, no user, no query, no fragment.  It
 * joins the endpoints, together with the roots in the member "ca" beside it,
 * if there is one; gives its number.
 */
bool reading_url(const struct reading *reading, const char *key,
    enum reading_need need, uint16_t *ret);

/* The same for one that a kind has put together; key is what to blame. */
bool reading_endpoint(const struct reading *reading, const char *key,
    const char *url, uint16_t *ret);

/* Reports what a member has wrong; key NULL: the object itself. */
void reading_blame(const struct reading *reading, const char *key,
    const char *cure, const char *format, ...) PRINTF_LIKE(4, 5);

/* Reports every member whose name is in none of the lists (NULL-ended). */
void reading_known(const struct reading *reading, const char *const *common,
    const char *const *own);

#endif
