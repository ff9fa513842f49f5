/*
 * automaton - one word that some patterns match and others do not.
 *
 * A list of patterns matches what one of them matches.  The words are those
 * that can be asked for: canonical names and paths, or texts without NUL.
 * All patterns are walked at once, letter by letter, and every set of places
 * reached in them is looked at once; letters that no pattern tells apart
 * stand for each other.  So an answer "there is none" is a proof, and the
 * word found is one of the shortest.
 */
#ifndef POLICY_AUTOMATON_H
#define POLICY_AUTOMATON_H

#include "policy/hostmatch.h"
#include "policy/pathmatch.h"

enum automaton_words {
	AUTOMATON_NAMES,
	AUTOMATON_PATHS,
	AUTOMATON_TEXTS
};

/* Patterns of one kind, borrowed: hosts for names, else paths. */
struct automaton_list {
	const struct hostmatch *hosts;
	const struct pathmatch *paths;
	size_t count;
	bool negated; /* the word must be matched by none of them */
};

/* Of a path as it is written, of a text its bytes; with a NUL. */
struct automaton_word {
	size_t length;
	char text[LIMIT_HTTP_URI + 1];
};

/*
 * STATUS_NOT_FOUND: no word is matched by every list that is not negated and
 * by no negated one.  STATUS_FULL: that would take too long to tell.
 * STATUS_NO_MEMORY.
 */
int automaton_find(enum automaton_words words,
    const struct automaton_list *lists, size_t count,
    struct automaton_word *ret) MUST_CHECK;

#endif
