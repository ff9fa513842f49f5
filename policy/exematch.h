/*
 * exematch - one way to name the program that opened a connection.
 *
 * A glob over the resolved path of its file, or the SHA-256 of its bytes.
 */
#ifndef POLICY_EXEMATCH_H
#define POLICY_EXEMATCH_H

#include "policy/pathmatch.h"

#include <stdbool.h>

#define EXEMATCH_SHA256 32
#define EXEMATCH_HASH_PREFIX "sha256:"

struct exematch {
	bool by_hash; /* else by path */
	uint8_t sha256[EXEMATCH_SHA256];
	struct pathmatch path;
};

/*
 * Reads a glob for a whole path, or "sha256:" and 64 digits.
 * STATUS_MALFORMED when no program could ever match it, STATUS_TOO_LONG,
 * STATUS_NO_MEMORY.
 */
int exematch_init(struct exematch *match, const char *text, size_t length)
    MUST_CHECK;
void exematch_done(struct exematch *match);

/* 64 hexadecimal digits and nothing else. */
bool exematch_parse_hash(struct cursor digits, uint8_t ret[EXEMATCH_SHA256])
    MUST_CHECK;

/* As people write it; and the digits of a hash alone. */
void exematch_print(const struct exematch *match, struct cursor_writer *out);
void exematch_print_hash(
    const uint8_t sha256[EXEMATCH_SHA256], struct cursor_writer *out);

/* False only when no program is matched by both. */
bool exematch_may_meet(const struct exematch *a, const struct exematch *b);

#endif
