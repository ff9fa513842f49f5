#include "gateway/flow/badge.h"

#include "gateway/flow/grants.h"

#include <string.h>

struct cursor
badge_text(const struct grants_loan *loan)
{
	const struct grant *grant;

	if (loan->lent == NULL)
		return cursor_of(NULL, 0);
	grant = grants_lent_grant(loan);
	for (size_t i = 0; i < grant->count; i++)
		if (grant->fields[i].place == GRANT_CERTIFICATE)
			return secret_bytes(grant->fields[i].value);
	return cursor_of(NULL, 0);
}

struct badge
badge_of(const struct grants_loan *loan)
{
	struct badge badge = { .credential = "" };
	const struct grant *grant;

	if (badge_text(loan).left == 0)
		return badge;
	grant = grants_lent_grant(loan);
	memcpy(badge.credential, loan->question.credential,
	    sizeof(badge.credential));
	badge.slot = grant->slot;
	badge.generation = grant->generation;
	return badge;
}

bool
badge_is_none(const struct badge *badge)
{
	return badge->credential[0] == '\0';
}

bool
badge_equals(const struct badge *a, const struct badge *b)
{
	return strcmp(a->credential, b->credential) == 0 &&
	       a->slot == b->slot && a->generation == b->generation;
}
