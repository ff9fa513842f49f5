/*
 * status - the closed list of ways a call can fail.
 *
 * A function that can fail for more than one reason returns int: STATUS_OK,
 * or one of the negative values below, with its outputs untouched.  A parser
 * that is fed in pieces returns enum parse_result.  What a person is to read
 * about a failure is not here but in schema/problem.
 */
#ifndef SCHEMA_STATUS_H
#define SCHEMA_STATUS_H

enum {
	STATUS_OK = 0,
	STATUS_NO_MEMORY = -1,
	STATUS_TOO_LONG = -2, /* longer than a limit of schema/limits.h */
	STATUS_MALFORMED = -3, /* does not read as what it should be */
	STATUS_FULL = -4, /* a table or queue has no room left */
	STATUS_NOT_FOUND = -5,
	STATUS_REFUSED = -6, /* well-formed, and not allowed */
	STATUS_SYSTEM = -7, /* errno says which */
	STATUS_CLOSED = -8, /* the other side is gone */
	STATUS_TIMEOUT = -9,
	STATUS_PROBLEM = -10, /* a struct problem tells it */
	STATUS_AGAIN = -11, /* nothing now; ask later */
	STATUS_COUNT = 12
};

enum parse_result {
	PARSE_OK,
	PARSE_MORE, /* all well so far; feed more */
	PARSE_BAD
};

/* The status in a word, for logs; "unknown" for what is not in the list. */
const char *status_name(int status);

#endif
