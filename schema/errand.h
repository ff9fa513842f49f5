/*
 * errand - one outbound exchange that the broker asks exeat-fetch for, and
 * its answer as named strings.
 *
 * The broker has keys and no network, exeat-fetch has network and no keys.
 * First the broker names every endpoint there will ever be, in order, and
 * seals the list; from then on it can only ask for one of them by its place,
 * and exeat-fetch gives up what it needed to prepare them.  An errand brings
 * its fields and body and says which strings of the JSON in the answer it
 * wants and under what name; nothing else of an answer comes back.
 *
 *   broker  ENDPOINT x n  SEAL         ASK, ASK, ...
 *   fetch                       READY        ANSWER, ANSWER, ...
 *
 * Cursors of what was read borrow from the frame.  What an errand carries is
 * secret: whoever holds a frame of it wipes it.
 */
#ifndef SCHEMA_ERRAND_H
#define SCHEMA_ERRAND_H

#include "schema/cursor.h"
#include "schema/limits.h"

/* Where errands may lead. */
struct errand_endpoint {
	char url[LIMIT_ERRAND_URL + 1]; /* https, with nothing left open */
	struct cursor roots; /* PEM of who signs for it; empty: the machine's */
};

enum errand_method {
	ERRAND_GET,
	ERRAND_POST,
	ERRAND_PUT,
	ERRAND_DELETE,
	ERRAND_METHOD_COUNT
};

/* A field of the request's head, or a value of the answer. */
struct errand_field {
	struct cursor name, value;
};

/*
 * A value wanted of the answer's JSON: path is the keys that lead to it, with
 * a slash between two; a key with a slash in it cannot be named.
 */
struct errand_want {
	struct cursor name, path;
};

struct errand {
	uint32_t number; /* the broker's own, in the answer again */
	uint16_t endpoint; /* its place in the list, from 0 */
	enum errand_method method;
	size_t field_count, want_count;
	struct errand_field fields[LIMIT_ERRAND_FIELDS];
	struct errand_want wants[LIMIT_ERRAND_WANTS];
	struct cursor body;
};

enum errand_end {
	ERRAND_ANSWERED, /* status says how; values may be there */
	ERRAND_REDIRECTED, /* it points elsewhere, where nobody goes */
	ERRAND_UNRESOLVED,
	ERRAND_UNREACHABLE,
	ERRAND_UNVERIFIED, /* the certificate is not the endpoint's */
	ERRAND_TIMED_OUT,
	ERRAND_BROKEN_OFF,
	ERRAND_TOO_LONG,
	ERRAND_NOT_JSON, /* or a value wanted is neither text nor number */
	ERRAND_OVERLOADED,
	ERRAND_END_COUNT
};

struct errand_answer {
	uint32_t number;
	enum errand_end end;
	uint16_t status; /* of HTTP; 0 when there was none */
	char cause[LIMIT_ERRAND_CAUSE + 1]; /* in words, or empty */
	size_t value_count;
	struct errand_field values[LIMIT_ERRAND_WANTS];
};

/* In words, for people; never NULL. */
const char *errand_end_words(enum errand_end end);

/* As HTTP spells it. */
const char *errand_method_name(enum errand_method method);

/* The value of that name, without its NUL, if the answer has it. */
bool errand_answer_find(const struct errand_answer *answer, const char *name,
    struct cursor *ret) MUST_CHECK;

/* Bodies of frames.  Reading is STATUS_OK or STATUS_MALFORMED. */
void errand_endpoint_write(
    const struct errand_endpoint *endpoint, struct cursor_writer *out);
int errand_endpoint_read(struct cursor body, struct errand_endpoint *ret)
    MUST_CHECK;
void errand_write(const struct errand *errand, struct cursor_writer *out);
int errand_read(struct cursor body, struct errand *ret) MUST_CHECK;
void errand_answer_write(
    const struct errand_answer *answer, struct cursor_writer *out);
int errand_answer_read(struct cursor body, struct errand_answer *ret)
    MUST_CHECK;

#endif
