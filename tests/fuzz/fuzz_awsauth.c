/*
 * awsauth: what is read, put together again, reads the same.
 */
#include "gateway/proto/awsauth.h"
#include "schema/limits.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void
put(struct cursor_writer *out, const char *before, struct cursor text)
{
	cursor_put_text(out, before);
	cursor_put(out, text.at, text.left);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static unsigned char room[LIMIT_HTTP_HEAD + 64];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct awsauth auth, again;

	if (length > LIMIT_HTTP_HEAD)
		return 0;
	if (awsauth_query_is_signed(cursor_of(bytes, length)))
		assert(length > 0);
	if (awsauth_is_time(cursor_of(bytes, length)))
		assert(length == AWSAUTH_TIME);
	if (awsauth_parse(cursor_of(bytes, length), &auth) != STATUS_OK)
		return 0;
	put(&out, "AWS4-HMAC-SHA256 Credential=", auth.key_id);
	put(&out, "/", auth.scope);
	put(&out, ",SignedHeaders=", auth.names);
	put(&out, ",Signature=", auth.signature);
	assert(cursor_written(&out));
	assert(awsauth_parse(cursor_of(room, out.used), &again) == STATUS_OK);
	assert(again.scope.left == auth.scope.left &&
	       memcmp(again.scope.at, auth.scope.at, auth.scope.left) == 0);
	assert(again.region.left == auth.region.left &&
	       again.service.left == auth.service.left);
	return 0;
}
