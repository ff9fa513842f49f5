#include "gateway/audit/signer.h"

#include "gateway/audit/shelf.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SEED_BYTES = 32
};

struct signer {
	EVP_PKEY *key;
	uint8_t public[SIGNER_KEY];
};

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* STATUS_NOT_FOUND without a problem when there is no such file. */
static int
read_seed(const char *path, uint8_t seed[SEED_BYTES], struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return STATUS_NOT_FOUND;
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		(void)problem_set(
		    reterr, "%s is not a key of ours alone", path);
		return problem_cure(reterr, "Make it yours, with mode 0600.");
	}
	if (st.st_size != SEED_BYTES ||
	    read(fd, seed, SEED_BYTES) != SEED_BYTES)
		return problem_set(reterr, "%s is not a key", path);
	return STATUS_OK;
}

static bool
write_seed(int fd, const uint8_t seed[SEED_BYTES])
{
	return write(fd, seed, SEED_BYTES) == SEED_BYTES && fsync(fd) == 0;
}

/*
 * Written under another name first, so that a key is whole or not there.
 * There is one writer, so nobody else makes one meanwhile.
 */
static int
make_seed(const char *path, uint8_t seed[SEED_BYTES], struct problem *reterr)
{
	char fresh[PATH_MAX];
	int length = snprintf(fresh, sizeof(fresh), "%s.new", path);
	bool well;
	int fd;

	if (length < 0 || (size_t)length >= sizeof(fresh))
		return problem_set(reterr, "the path of %s is too long", path);
	if (getrandom(seed, SEED_BYTES, 0) != SEED_BYTES)
		return problem_errno(reterr, "no random bytes for a key");
	if (unlink(fresh) != 0 && errno != ENOENT)
		return problem_errno(reterr, "cannot replace %s", fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return problem_errno(reterr, "cannot make %s", fresh);
	well = write_seed(fd, seed);
	well = close(fd) == 0 && well;
	if (!well || rename(fresh, path) != 0)
		return problem_errno(reterr, "cannot write %s", path);
	/* Rows that are signed with a key whose name is lost have none. */
	return shelf_sync(path, reterr);
}

static int
load_key(struct signer *signer, const uint8_t seed[SEED_BYTES],
    struct problem *reterr)
{
	size_t length = SIGNER_KEY;

	signer->key = EVP_PKEY_new_raw_private_key(
	    EVP_PKEY_ED25519, NULL, seed, SEED_BYTES);
	if (signer->key == NULL ||
	    EVP_PKEY_get_raw_public_key(signer->key, signer->public, &length) !=
		1 ||
	    length != SIGNER_KEY)
		return problem_set(reterr, "cannot use the audit's key");
	return STATUS_OK;
}

int
signer_open(const char *database, struct signer **ret, struct problem *reterr)
{
	struct signer *signer = calloc(1, sizeof(*signer));
	char path[PATH_MAX];
	uint8_t seed[SEED_BYTES];
	int length = snprintf(path, sizeof(path), "%s.key", database);
	int status;

	if (signer == NULL)
		return problem_set(reterr, "no memory for the audit's key");
	if (length < 0 || (size_t)length >= sizeof(path)) {
		signer_free(signer);
		return problem_set(
		    reterr, "the path of %s is too long", database);
	}
	status = read_seed(path, seed, reterr);
	if (status == STATUS_NOT_FOUND)
		status = make_seed(path, seed, reterr);
	if (status == STATUS_OK)
		status = load_key(signer, seed, reterr);
	explicit_bzero(seed, sizeof(seed));
	if (status != STATUS_OK) {
		signer_free(signer);
		return status;
	}
	*ret = signer;
	return STATUS_OK;
}

void
signer_free(struct signer *signer)
{
	if (signer == NULL)
		return;
	/* OpenSSL wipes the key it frees. */
	EVP_PKEY_free(signer->key);
	free(signer);
}

const uint8_t *
signer_public(const struct signer *signer)
{
	return signer->public;
}

int
signer_sign(const struct signer *signer, struct cursor text,
    uint8_t ret[SIGNER_SIGNATURE])
{
	uint8_t signature[SIGNER_SIGNATURE];
	size_t length = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool well;

	well =
	    context != NULL &&
	    EVP_DigestSignInit(context, NULL, NULL, NULL, signer->key) == 1 &&
	    EVP_DigestSign(context, signature, &length, text.at, text.left) ==
		1 &&
	    length == sizeof(signature);
	EVP_MD_CTX_free(context);
	if (!well)
		return STATUS_SYSTEM;
	memcpy(ret, signature, sizeof(signature));
	return STATUS_OK;
}

bool
signer_verify(const uint8_t key[SIGNER_KEY], struct cursor text,
    const uint8_t signature[SIGNER_SIGNATURE])
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, key, SIGNER_KEY);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool valid;

	valid = pkey != NULL && context != NULL &&
		EVP_DigestVerifyInit(context, NULL, NULL, NULL, pkey) == 1 &&
		EVP_DigestVerify(context, signature, SIGNER_SIGNATURE, text.at,
		    text.left) == 1;
	EVP_MD_CTX_free(context);
	EVP_PKEY_free(pkey);
	return valid;
}
