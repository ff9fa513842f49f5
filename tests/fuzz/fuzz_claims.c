/*
 * claims: what is read is sound, and is read alike once it was written anew,
 * as JSON and as a frame.
 */
#include "broker/claims.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char issuer[] = "https://id.example";
	unsigned char text[4 * LIMIT_TOKEN], frame[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct cursor_writer wire = cursor_writer_of(frame, sizeof(frame));
	struct cursor body;
	struct token token, again;

	if (claims_read(cursor_of(bytes, length), issuer, &token) != STATUS_OK)
		return 0;
	assert(token_is_sound(&token) && token.depth > 0);
	token_write(&token, &wire);
	assert(cursor_written(&wire));
	body = cursor_of(frame, wire.used);
	assert(token_read(&body, &again) == STATUS_OK && body.left == 0);
	assert(again.expires_s == token.expires_s);
	assert(strcmp(again.scope, token.scope) == 0);
	claims_write(&token, issuer, &out);
	assert(cursor_written(&out));
	/* Escapes may make it longer than a token can be. */
	if (out.used <= LIMIT_TOKEN)
		assert(claims_read(cursor_of(text, out.used), issuer, &again) ==
		       STATUS_OK);
	return 0;
}
