/*
 * sighting - what a gateway asks its lookout, and what it hears back: which
 * program holds one end of a connection.
 *
 * A lookout is the part of a gateway that may look into /proc; see
 * gateway/control/lookout.h.  It is told the sandbox's diag socket once.
 */
#ifndef SCHEMA_SIGHTING_H
#define SCHEMA_SIGHTING_H

#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/limits.h"

enum sighting_transport {
	SIGHTING_TCP,
	SIGHTING_UDP,
	SIGHTING_TRANSPORT_COUNT
};

/* FRAME_SIGHTING_ASK */
struct sighting_question {
	uint64_t number; /* the asker's own, comes back */
	enum sighting_transport transport;
	struct endpoint from, to; /* as the program sees it */
	bool digest; /* the program's SHA-256 is wanted too */
};

#define SIGHTING_DIGEST 32

/* FRAME_SIGHTING_FOUND */
struct sighting {
	uint64_t number;
	uint32_t pid; /* on the machine, not in the sandbox; 0: not found */
	char exe[LIMIT_EXE + 1]; /* as the sandbox sees it; or empty */
	char argv[LIMIT_ARGV + 1]; /* redacted */
	bool has_digest;
	uint8_t digest[SIGHTING_DIGEST];
};

void sighting_question_write(
    const struct sighting_question *question, struct cursor_writer *out);
int sighting_question_read(struct cursor body, struct sighting_question *ret)
    MUST_CHECK;

void sighting_write(const struct sighting *sighting, struct cursor_writer *out);
int sighting_read(struct cursor body, struct sighting *ret) MUST_CHECK;

#endif
