/*
 * dice - numbers that look random and are the same in every run, for tests of
 * properties.
 */
#ifndef TESTS_SCHEMA_DICE_H
#define TESTS_SCHEMA_DICE_H

#include <stddef.h>
#include <stdint.h>

struct dice {
	uint64_t state;
};

/* A number below sides. */
static inline size_t
dice_throw(struct dice *dice, size_t sides)
{
	dice->state = dice->state * 6364136223846793005U + 1442695040888963407U;
	return (size_t)(dice->state >> 33) % sides;
}

/* Fills out with length bytes of the alphabet, and a NUL behind. */
static inline void
dice_text(struct dice *dice, const char *alphabet, size_t count, char *out,
    size_t length)
{
	for (size_t i = 0; i < length; i++)
		out[i] = alphabet[dice_throw(dice, count)];
	out[length] = '\0';
}

#endif
