/*
 * A pattern, a newline, another pattern, a newline and a path: what covers
 * holds wherever the covered one does, and what holds together may meet.
 */
#include "policy/pathmatch.h"

#include "policy/urlpath.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static struct urlpath path;

static void
compare(
    const struct pathmatch *a, const struct pathmatch *b, struct cursor text)
{
	bool in_a = pathmatch_holds(a, text), in_b = pathmatch_holds(b, text);

	if (pathmatch_covers(a, b) && in_b && !in_a)
		abort();
	if (pathmatch_covers(b, a) && in_a && !in_b)
		abort();
	if (in_a && in_b &&
	    (!pathmatch_may_meet(a, b) || !pathmatch_may_meet(b, a)))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor target = cursor_of(bytes, length), first, second, query;
	struct pathmatch a = { 0 }, b = { 0 };

	if (!cursor_until(&target, '\n', &first) ||
	    !cursor_until(&target, '\n', &second) ||
	    urlpath_parse(target, &path, &query) != STATUS_OK)
		return 0;
	if (pathmatch_init_path(&a, (const char *)first.at, first.left) ==
		STATUS_OK &&
	    pathmatch_init_path(&b, (const char *)second.at, second.left) ==
		STATUS_OK)
		compare(&a, &b, cursor_of(path.text, path.length));
	pathmatch_done(&a);
	pathmatch_done(&b);
	return 0;
}
