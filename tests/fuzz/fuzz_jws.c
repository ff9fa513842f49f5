/*
 * jws: whatever is read is split at its dots, says an algorithm that we know,
 * and is the only spelling of its bytes; what no key has signed gives nothing.
 */
#include "broker/jws.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static const struct jwk *
key(void)
{
	static struct jwk *made;

	if (made == NULL)
		made = jwk_make(JWK_ES256);
	assert(made != NULL);
	return made;
}

static void
check_spelling(struct cursor part)
{
	unsigned char bytes[LIMIT_TOKEN];
	char text[LIMIT_TOKEN + 4];
	struct cursor_writer read = cursor_writer_of(bytes, sizeof(bytes));
	struct cursor_writer again = cursor_writer_of(text, sizeof(text));

	assert(base64url_read(part, &read));
	base64url_write(cursor_of(bytes, read.used), &again);
	assert(cursor_written(&again) && again.used == part.left);
	assert(memcmp(text, part.at, part.left) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	unsigned char payload[LIMIT_TOKEN];
	struct cursor_writer out = cursor_writer_of(payload, sizeof(payload));
	struct jws jws;

	if (jws_read(cursor_of(bytes, length), &jws) != JWS_WELL)
		return 0;
	assert(jws.alg < JWK_ALG_COUNT);
	assert(jws.input.left + 1 + jws.signature.left == length);
	check_spelling(jws.payload);
	check_spelling(jws.signature);
	assert(jws_verify(&jws, key(), jws.typ[0] == '\0' ? NULL : jws.typ,
		   &out) != JWS_WELL);
	assert(out.used == 0);
	return 0;
}
