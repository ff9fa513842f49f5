/* Any bytes as a request target: a canonical path is its own canonical form. */
#include "policy/urlpath.h"

#include "policy/pathmatch.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct urlpath path, again;

/* What a server might decode must not climb. */
static void
check_segments(struct cursor in)
{
	struct cursor segment;
	bool more = cursor_literal(&in, "/");

	if (!more)
		abort();
	while (more) {
		more = cursor_until(&in, '/', &segment);
		if (!more)
			segment = in;
		if (cursor_equals(segment, ".") || cursor_equals(segment, ".."))
			abort();
	}
}

/* A path without wildcards is a pattern for itself, when it is not too long. */
static void
check_pattern(void)
{
	struct pathmatch match;

	if (memchr(path.text, '*', path.length) != NULL ||
	    pathmatch_init_path(&match, path.text, path.length) != STATUS_OK)
		return;
	if (!pathmatch_holds(&match, cursor_of(path.text, path.length)) ||
	    !pathmatch_covers(&match, &match) ||
	    !pathmatch_may_meet(&match, &match))
		abort();
	pathmatch_done(&match);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor query;

	if (urlpath_parse(cursor_of(bytes, length), &path, &query) != STATUS_OK)
		return 0;
	if (strlen(path.text) != path.length)
		abort();
	check_segments(cursor_of(path.text, path.length));
	if (urlpath_parse(cursor_of(path.text, path.length), &again, &query) !=
		STATUS_OK ||
	    again.length != path.length ||
	    memcmp(again.text, path.text, path.length) != 0)
		abort();
	check_pattern();
	return 0;
}
