/*
 * attenuate - what a token may be that is made from another.
 *
 * child = parent, cut by what is asked for and by what its holder may have:
 * never wider, longer, earlier or deeper, of the same run and for the same
 * audience, on behalf of the same subject.  So whatever a child allows, its
 * parent allows at that instant, however many stand between, and in whatever
 * order they were cut.
 *
 * Pure: no clock, no chance; whether the parent still holds is the issuer's to
 * know.
 */
#ifndef BROKER_ATTENUATE_H
#define BROKER_ATTENUATE_H

#include "schema/token.h"

struct attenuate_wish {
	const char *scope; /* empty: all that may be */
	const char *audience; /* empty: the parent's */
	const char *actor; /* who acts from now on; NULL: as before */
	const char *client; /* who is given it */
	uint32_t life_s; /* 0: as long as may be */
	/* What the holder may have at most, by the credential file. */
	const char *most_scope;
	uint32_t most_life_s;
	int64_t ends_s; /* of the actor's own token; 0: there is none */
	int64_t now_s;
};

enum attenuate_end {
	ATTENUATE_WELL,
	ATTENUATE_SCOPE, /* nothing is left of it */
	ATTENUATE_AUDIENCE, /* it is another one */
	ATTENUATE_DEPTH, /* LIMIT_TOKEN_DEPTH */
	ATTENUATE_OVER, /* no second of it is left */
	ATTENUATE_END_COUNT
};

/*
 * Fills all of *ret but its id, and in ret_dropped the words that were asked
 * for and are not given.  Whether actor may act is the caller's to know.
 */
enum attenuate_end attenuate(const struct token *parent,
    const struct attenuate_wish *wish, struct token *ret,
    char ret_dropped[LIMIT_SCOPE + 1]) MUST_CHECK;

/* ---- what a token allows, for those who check ---- */

struct attenuate_use {
	struct cursor word; /* of a scope */
	const char *audience, *run;
	int64_t now_s;
};

bool attenuate_allows(
    const struct token *token, const struct attenuate_use *use) MUST_CHECK;

#endif
