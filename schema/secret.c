#include "schema/secret.h"

#include "schema/limits.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

/* Whole pages: a lock covers nothing less, and no neighbour shares them. */
enum {
	SECRET_PAGE = 4096
};

struct secret {
	size_t mapped; /* bytes in all */
	size_t length;
	unsigned char bytes[];
};

struct secret *
secret_room(size_t length)
{
	size_t need = sizeof(struct secret) + length;
	size_t mapped = (need + SECRET_PAGE - 1) / SECRET_PAGE * SECRET_PAGE;
	struct secret *secret;

	if (length > LIMIT_SECRET)
		return NULL;
	secret = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
	    /* cppcheck-suppress invalidFunctionArg; it has no file. */
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (secret == MAP_FAILED)
		return NULL;
	/* Locked and never dumped, or not at all; the rest is for forks. */
	if (mlock(secret, mapped) != 0 ||
	    madvise(secret, mapped, MADV_DONTDUMP) != 0) {
		(void)munmap(secret, mapped);
		return NULL;
	}
	(void)madvise(secret, mapped, MADV_WIPEONFORK);
	secret->mapped = mapped;
	secret->length = length;
	return secret;
}

struct secret *
secret_new(struct cursor bytes)
{
	struct secret *secret = secret_room(bytes.left);

	if (secret != NULL && bytes.left > 0)
		memcpy(secret->bytes, bytes.at, bytes.left);
	return secret;
}

void
secret_free(struct secret *secret)
{
	size_t mapped;

	if (secret == NULL)
		return;
	mapped = secret->mapped;
	explicit_bzero(secret, mapped);
	(void)munmap(secret, mapped);
}

struct cursor
secret_bytes(const struct secret *secret)
{
	return cursor_of(secret->bytes, secret->length);
}

unsigned char *
secret_fill(struct secret *secret)
{
	return secret->bytes;
}

void
secret_shorten(struct secret *secret, size_t length)
{
	assert(length <= secret->length);
	explicit_bzero(secret->bytes + length, secret->length - length);
	secret->length = length;
}

bool
secret_equals(const struct secret *secret, struct cursor guess)
{
	unsigned char differs = 0;

	if (guess.left != secret->length)
		return false;
	for (size_t i = 0; i < guess.left; i++)
		differs |= secret->bytes[i] ^ guess.at[i];
	return differs == 0;
}

bool
secret_is_text(const struct secret *secret)
{
	for (size_t i = 0; i < secret->length; i++)
		if (secret->bytes[i] < 0x20 || secret->bytes[i] == 0x7f)
			return false;
	return true;
}
