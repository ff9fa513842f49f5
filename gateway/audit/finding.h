/*
 * finding - one place of an audit that is not as it was written.
 */
#ifndef GATEWAY_AUDIT_FINDING_H
#define GATEWAY_AUDIT_FINDING_H

#include "schema/attr.h"

#include <stdint.h>

#define FINDING_TEXT 240

struct finding {
	const char *table; /* or "file" or "anchor" */
	int64_t first, last; /* its rows by their key; 0 when it has none */
	char text[FINDING_TEXT]; /* what is wrong, a sentence without its dot */
};

/* Who is told of them, and how many there were. */
struct findings {
	void (*on_finding)(const struct finding *finding, void *arg);
	void *arg;
	int64_t count;
};

void findings_tell(struct findings *findings, const char *table, int64_t first,
    int64_t last, const char *format, ...) PRINTF_LIKE(5, 6);

#endif
