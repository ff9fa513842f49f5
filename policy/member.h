/*
 * member - one value of a document, read as what it should be.
 *
 * What is wrong with a value is reported with its place, and then nothing is
 * given.  Documents and places are borrowed for the call.
 */
#ifndef POLICY_MEMBER_H
#define POLICY_MEMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct place;
struct quota;
struct report;

/* The text of a string no longer than most, borrowed from value; or NULL. */
const char *member_text(const struct report *report, json_t *value,
    const struct place *place, size_t most);

/* The same, copied: gives *ret. */
void member_copy(const struct report *report, json_t *value,
    const struct place *place, size_t most, char **ret);

bool member_flag(
    const struct report *report, json_t *value, const struct place *place);

/* The number of a word in words, which end with NULL; or of that NULL. */
size_t member_word(const struct report *report, json_t *value,
    const struct place *place, const char *const *words, const char *cure);

/* How much stands in an array; 0 when it is none. */
size_t member_list(const struct report *report, json_t *value,
    const struct place *place, const char *cure);

/* A whole number from 1 to most; nothing is wrong with none (NULL). */
void member_count(const struct report *report, json_t *value,
    const struct place *place, uint64_t most, uint64_t *ret);

/* The object that stands under "limits". */
void member_quota(const struct report *report, json_t *value,
    const struct place *place, struct quota *ret);

/*
 * Reports each key of object that is not in the list, with the nearest that
 * is; names ends with NULL.
 */
void member_keys(const struct report *report, json_t *object,
    const struct place *place, const char *const *names);

#endif
