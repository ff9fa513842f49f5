#include "gateway/flow/upgrade.h"

#include "schema/status.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

enum {
	KEY_BYTES = 16,
	SHA1_BYTES = 20,
	ACCEPT_TEXT = 28
};

int
upgrade_key(char ret[UPGRADE_KEY])
{
	unsigned char bytes[KEY_BYTES];

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return STATUS_SYSTEM;
	(void)EVP_EncodeBlock((unsigned char *)ret, bytes, sizeof(bytes));
	return STATUS_OK;
}

bool
upgrade_is_proven(const char *key, struct cursor accept)
{
	/* The same for everybody: it shows that the server knows what it does.
	 */
	static const char constant[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
	unsigned char text[UPGRADE_KEY + sizeof(constant)];
	unsigned char digest[SHA1_BYTES], wanted[ACCEPT_TEXT + 1];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, key);
	cursor_put_text(&out, constant);
	if (EVP_Digest(text, out.used, digest, NULL, EVP_sha1(), NULL) != 1)
		return false;
	(void)EVP_EncodeBlock(wanted, digest, sizeof(digest));
	return accept.left == ACCEPT_TEXT &&
	       memcmp(accept.at, wanted, ACCEPT_TEXT) == 0;
}
