/*
 * quota - how much a rule, or a policy as a whole, lets through.
 *
 * A plain record: the numbers as the document states them.  Who counts, and
 * what happens past the end, is the data plane's business.
 */
#ifndef POLICY_QUOTA_H
#define POLICY_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

enum quota_kind {
	QUOTA_REQUESTS, /* of HTTP, in any minute */
	QUOTA_CONNECTIONS, /* open at once */
	QUOTA_BYTES_OUT, /* from the sandbox, in the whole run */
	QUOTA_BYTES_IN, /* to the sandbox, in the whole run */
	QUOTA_KIND_COUNT
};

struct quota {
	uint64_t most[QUOTA_KIND_COUNT]; /* 0: no limit */
};

/* The key that states it in a document: "requests_per_minute". */
const char *quota_kind_name(enum quota_kind kind);

bool quota_is_stated(const struct quota *quota);
bool quota_equals(const struct quota *a, const struct quota *b);

/* Whether narrow lets through nothing that wide does not. */
bool quota_within(const struct quota *narrow, const struct quota *wide);

#endif
