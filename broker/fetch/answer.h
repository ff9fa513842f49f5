/*
 * answer - an answer's JSON to the named strings that were asked for.
 *
 * The JSON is an object, no member of it stands there twice, and nothing
 * follows it.  A value wanted is a text without control bytes, a number or a
 * truth; numbers lose their fraction.  What is absent or null is left out.  Of
 * an answer that tells a failure whatever can be read is taken.
 */
#ifndef BROKER_FETCH_ANSWER_H
#define BROKER_FETCH_ANSWER_H

#include "schema/errand.h"

/* Owns what the values of an errand_answer borrow from. */
struct answer {
	void *json;
	char numbers[LIMIT_ERRAND_WANTS][24];
};

/*
 * Reads the body of an answer of that HTTP status and fills end, values and
 * their count of *ret.
 */
void answer_read(struct answer *answer, struct cursor body, unsigned status,
    const struct errand *errand, struct errand_answer *ret);

/* Wipes and frees.  An answer that is all zeroes is fine. */
void answer_done(struct answer *answer);

#endif
