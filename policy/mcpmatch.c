#include "policy/mcpmatch.h"

#include <stdlib.h>
#include <string.h>

static void
free_globs(struct pathmatch *globs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pathmatch_done(&globs[i]);
	free(globs);
}

void
mcpmatch_done(struct mcpmatch *match)
{
	if (match == NULL)
		return;
	free_globs(match->methods, match->method_count);
	free_globs(match->tools, match->tool_count);
	memset(match, 0, sizeof(*match));
}

bool
mcpmatch_is_stated(const struct mcpmatch *match)
{
	return match->method_count > 0 || match->tool_count > 0;
}

static bool
any_holds(const struct pathmatch *globs, size_t count, struct cursor text)
{
	for (size_t i = 0; i < count; i++)
		if (pathmatch_holds(&globs[i], text))
			return true;
	return false;
}

bool
mcpmatch_has_method(const struct mcpmatch *match, struct cursor method)
{
	if (match->method_count == 0)
		return match->tool_count == 0 ||
		       cursor_equals(method, MCPMATCH_CALL);
	return any_holds(match->methods, match->method_count, method);
}

bool
mcpmatch_holds(
    const struct mcpmatch *match, struct cursor method, struct cursor tool)
{
	if (!mcpmatch_has_method(match, method))
		return false;
	return match->tool_count == 0 ||
	       !cursor_equals(method, MCPMATCH_CALL) ||
	       any_holds(match->tools, match->tool_count, tool);
}

static bool
globs_may_meet(const struct pathmatch *a, size_t a_count,
    const struct pathmatch *b, size_t b_count)
{
	if (a_count == 0 || b_count == 0)
		return true;
	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			if (pathmatch_may_meet(&a[i], &b[k]))
				return true;
	return false;
}

bool
mcpmatch_may_meet(const struct mcpmatch *a, const struct mcpmatch *b)
{
	bool calls_alone = (a->method_count == 0 && a->tool_count > 0) ||
			   (b->method_count == 0 && b->tool_count > 0);

	if (!globs_may_meet(
		a->methods, a->method_count, b->methods, b->method_count))
		return false;
	return !calls_alone ||
	       globs_may_meet(a->tools, a->tool_count, b->tools, b->tool_count);
}
