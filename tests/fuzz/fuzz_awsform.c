/*
 * awsform: method, path, query and fields from lines of the input; what is
 * written has as many lines as it must, a canonical query is its own canonical
 * form, and an output that is too small is told, at every size.
 */
#include "gateway/proto/awsform.h"
#include "gateway/proto/header.h"
#include "schema/limits.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static unsigned char room[262144], again[262144];

/* The third line, behind method and path. */
static struct cursor
query_of(const unsigned char *bytes, size_t length)
{
	struct cursor text = cursor_of(bytes, length), line = text;

	for (int i = 0; i < 3; i++)
		assert(cursor_until(&text, '\n', &line));
	return line;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor in = cursor_of(bytes, length), line, name;
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct cursor_writer more = cursor_writer_of(again, sizeof(again));
	unsigned char names[8192];
	struct cursor_writer list = cursor_writer_of(names, sizeof(names));
	struct header header = { .count = 0 };
	struct awsform form = { .method = cursor_of_text("GET"),
		.host = cursor_of_text("example.com"),
		.header = &header,
		.payload = cursor_of_text("UNSIGNED-PAYLOAD") };

	if (length > 16384 || !cursor_until(&in, '\n', &form.path) ||
	    !cursor_until(&in, '\n', &form.query))
		return 0;
	form.rule = length % 2 == 0 ? AWSFORM_ONCE : AWSFORM_TWICE;
	while (cursor_until(&in, '\n', &line))
		if (cursor_until(&line, ':', &name) &&
		    header_add(&header, name, line) != STATUS_OK)
			return 0;
	if (awsform_names(&header, cursor_of(in.at, in.left), &list) !=
	    STATUS_OK)
		return 0;
	form.names = cursor_of(names, list.used);
	if (awsform_write(&form, &out) != STATUS_OK)
		return 0;
	form.query = query_of(room, out.used);
	assert(awsform_write(&form, &more) == STATUS_OK);
	assert(more.used == out.used && memcmp(room, again, out.used) == 0);
	more = cursor_writer_of(again, out.used - 1);
	assert(awsform_write(&form, &more) == STATUS_TOO_LONG);
	return 0;
}
