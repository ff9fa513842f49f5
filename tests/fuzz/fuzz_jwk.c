/*
 * jwk: a key that is read is written so that it is the same key, and its name
 * is one that a token could have.
 */
#include "broker/jwk.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct jwk *key = NULL, *again = NULL;
	char text[2 * JWK_TEXT];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json j = json_to(&out);

	if (jwk_read(cursor_of(bytes, length), &key) != STATUS_OK) {
		assert(key == NULL);
		return 0;
	}
	assert(strlen(jwk_id(key)) == JWK_THUMBPRINT);
	jwk_write(key, &j);
	assert(cursor_written(&out));
	assert(jwk_read(cursor_of(text, out.used), &again) == STATUS_OK);
	assert(strcmp(jwk_id(key), jwk_id(again)) == 0);
	assert(jwk_alg(key) == jwk_alg(again));
	jwk_free(again);
	jwk_free(key);
	return 0;
}
