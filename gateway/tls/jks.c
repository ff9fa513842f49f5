#include "gateway/tls/jks.h"

#include "gateway/tls/pem.h"
#include "schema/status.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

static const uint32_t magic = 0xfeedfeed;

enum {
	VERSION = 2,
	TRUSTED = 2, /* the kind of an entry */
	COUNT_AT = 8, /* where the number of entries stands */
	DIGEST = 20, /* of SHA-1 */
	ALIAS_MAX = 32
};

static void
put_utf(struct cursor_writer *out, struct cursor text)
{
	cursor_put_u16(out, (uint16_t)text.left);
	cursor_put(out, text.at, text.left);
}

static void
put_entry(struct cursor_writer *out, uint32_t number, struct cursor der)
{
	char alias[ALIAS_MAX];
	struct cursor_writer name = cursor_writer_of(alias, sizeof(alias));

	cursor_put_text(&name, "exeat-");
	cursor_put_decimal(&name, number);
	cursor_put_u32(out, TRUSTED);
	put_utf(out, cursor_of(alias, name.used));
	cursor_put_u64(out, 0);
	put_utf(out, cursor_of_text("X.509"));
	cursor_put_u32(out, (uint32_t)der.left);
	cursor_put(out, der.at, der.left);
}

/* Gives how many entries there are now; der has room for the text. */
static uint32_t
put_text(struct cursor_writer *out, struct cursor text, uint32_t number,
    unsigned char *der)
{
	struct cursor_writer one = cursor_writer_of(der, text.left);

	while (pem_next(&text, &one)) {
		put_entry(out, ++number, cursor_of(der, one.used));
		one = cursor_writer_of(der, text.left);
	}
	return number;
}

/* Over the password in UTF-16, two words of the inventors', and the store. */
static bool
digest(struct cursor store, unsigned char ret[DIGEST])
{
	static const char password[] = JKS_PASSWORD;
	static const char words[] = "Mighty Aphrodite";
	unsigned char wide[2 * (sizeof(password) - 1)];
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool well;

	for (size_t i = 0; i + 1 < sizeof(password); i++) {
		wide[2 * i] = 0;
		wide[2 * i + 1] = (unsigned char)password[i];
	}
	well = context != NULL &&
	       EVP_DigestInit_ex(context, EVP_sha1(), NULL) == 1 &&
	       EVP_DigestUpdate(context, wide, sizeof(wide)) == 1 &&
	       EVP_DigestUpdate(context, words, sizeof(words) - 1) == 1 &&
	       EVP_DigestUpdate(context, store.at, store.left) == 1 &&
	       EVP_DigestFinal_ex(context, ret, NULL) == 1;
	EVP_MD_CTX_free(context);
	return well;
}

int
jks_write(const struct cursor *texts, size_t count, struct cursor_writer *out)
{
	unsigned char sum[DIGEST], number[4];
	struct cursor_writer counted = cursor_writer_of(number, sizeof(number));
	size_t start = out->used;
	uint32_t entries = 0;

	cursor_put_u32(out, magic);
	cursor_put_u32(out, VERSION);
	cursor_put_u32(out, 0);
	for (size_t i = 0; i < count; i++) {
		unsigned char *der = malloc(texts[i].left + 1);

		if (der == NULL)
			return STATUS_NO_MEMORY;
		entries = put_text(out, texts[i], entries, der);
		free(der);
	}
	if (!cursor_written(out))
		return STATUS_TOO_LONG;
	cursor_put_u32(&counted, entries);
	memcpy(out->bytes + start + COUNT_AT, number, sizeof(number));
	if (!digest(cursor_of(out->bytes + start, out->used - start), sum))
		return STATUS_SYSTEM;
	cursor_put(out, sum, sizeof(sum));
	return cursor_written(out) ? STATUS_OK : STATUS_TOO_LONG;
}
