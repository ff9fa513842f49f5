#include "gateway/launch/trust.h"

#include "gateway/launch/mounts.h"
#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum form {
	FORM_BUNDLE,
	FORM_KEYSTORE,
	FORM_LINK, /* to the bundle */
	FORM_BROWSER /* a policy that names the run's authority */
};

/* Where other distributions, and programs made for them, look, too. */
static const struct trust_place places[] = {
	{ TRUST_BUNDLE, "OpenSSL, GnuTLS, curl, git, apt, Go, Rust" },
	{ TRUST_KEYSTORE, "Java" },
	{ "/etc/ssl/cert.pem", "Go, LibreSSL, Alpine's programs" },
	{ "/etc/ssl/ca-bundle.pem", "Go, SUSE's programs" },
	{ "/etc/pki/tls/certs/ca-bundle.crt", "Go, Fedora's programs" },
	{ "/etc/pki/tls/cert.pem", "Fedora's programs" },
	{ "/etc/pki/tls/cacert.pem", "Go, OpenELEC's programs" },
	{ "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	    "Go, Fedora's programs" },
	{ "/etc/chromium/policies/managed/exeat.json", "Chromium" },
	{ "/etc/opt/chrome/policies/managed/exeat.json", "Chrome" },
	{ "/etc/opt/chrome_for_testing/policies/managed/exeat.json",
	    "Chrome for Testing" },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

/* In the order of places. */
static const enum form forms[PLACES] = { FORM_BUNDLE, FORM_KEYSTORE, FORM_LINK,
	FORM_LINK, FORM_LINK, FORM_LINK, FORM_LINK, FORM_LINK, FORM_BROWSER,
	FORM_BROWSER, FORM_BROWSER };

/* Where a Java may have a store of its own, below each directory. */
static const char *const java_homes[] = { "usr/lib/jvm", "usr/java",
	"usr/local", "opt" };
static const char *const java_stores[] = { "lib/security/cacerts",
	"jre/lib/security/cacerts" };

const struct trust_place *
trust_places(size_t *ret_count)
{
	*ret_count = PLACES;
	return places;
}

/* ---- what the gateway gave ---- */

struct texts {
	unsigned char *bytes[HANDOFF_TRUST_COUNT];
	size_t sizes[HANDOFF_TRUST_COUNT];
};

static void
texts_done(struct texts *texts)
{
	for (size_t i = 0; i < HANDOFF_TRUST_COUNT; i++)
		free(texts->bytes[i]);
}

static int
take(struct texts *texts, size_t which, int fd, struct problem *reterr)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > LIMIT_TRUST_BYTES)
		return problem_set(
		    reterr, "the gateway sent no usable trust bundle");
	texts->sizes[which] = (size_t)st.st_size;
	texts->bytes[which] = malloc(texts->sizes[which]);
	if (texts->bytes[which] == NULL)
		return problem_set(reterr, "no memory for the trust bundle");
	if (pread(fd, texts->bytes[which], texts->sizes[which], 0) !=
	    st.st_size)
		return problem_errno(reterr, "cannot read the trust bundle");
	return STATUS_OK;
}

/* ---- a policy for browsers, which read neither files nor variables ---- */

/* The last certificate of the bundle is the run's authority: its base64. */
static struct cursor
last_certificate(const struct texts *texts)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
	struct cursor left = cursor_of(
	    texts->bytes[HANDOFF_BUNDLE], texts->bytes[HANDOFF_BUNDLE] == NULL
					      ? 0
					      : texts->sizes[HANDOFF_BUNDLE]);
	struct cursor found = cursor_of(NULL, 0);

	while (left.left >= sizeof(begin) - 1) {
		const unsigned char *at =
		    memmem(left.at, left.left, begin, sizeof(begin) - 1);
		const unsigned char *end = left.at + left.left, *dash;

		if (at == NULL)
			break;
		at += sizeof(begin) - 1;
		left = cursor_of(at, (size_t)(end - at));
		dash = memchr(at, '-', left.left);
		found =
		    cursor_of(at, (size_t)((dash == NULL ? end : dash) - at));
	}
	return found;
}

static int
lay_browser(struct mounts *mounts, const char *at, const struct texts *texts,
    struct problem *reterr)
{
	struct cursor pem = last_certificate(texts);
	char base64[LIMIT_AUTHORITY_PEM], policy[LIMIT_AUTHORITY_PEM + 64];
	struct cursor_writer line = cursor_writer_of(base64, sizeof(base64));
	struct cursor_writer out = cursor_writer_of(policy, sizeof(policy));
	struct json json = json_to(&out);

	for (size_t i = 0; i < pem.left; i++)
		if (pem.at[i] > ' ')
			cursor_put_u8(&line, pem.at[i]);
	json_open(&json, NULL, '{');
	json_open(&json, "CACertificates", '[');
	json_bytes(&json, NULL, cursor_of(base64, line.used));
	json_close(&json, ']');
	json_close(&json, '}');
	if (!cursor_written(&line) || !cursor_written(&out))
		return problem_set(
		    reterr, "the run's authority is too long a certificate");
	return mounts_file(mounts, at, policy, out.used, reterr);
}

/* ---- stores that a Java brings along ---- */

static void
directory_done(DIR **directory)
{
	if (*directory != NULL)
		(void)closedir(*directory);
}

/* Debian's are links to ours, which need no cover. */
static int
cover(struct mounts *mounts, const char *home, const char *name,
    struct problem *reterr)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK &&
			   i < sizeof(java_stores) / sizeof(java_stores[0]);
	     i++) {
		ON_SCOPE_EXIT(fd_done) int tree = -1;
		ON_SCOPE_EXIT(fd_done) int store = -1;
		char at[LIMIT_PATTERN];
		struct stat st;

		if (snprintf(at, sizeof(at), "/%s/%s/%s", home, name,
			java_stores[i]) >= (int)sizeof(at))
			continue;
		if (fstatat(mounts->root, at + 1, &st, AT_SYMLINK_NOFOLLOW) !=
			0 ||
		    !S_ISREG(st.st_mode))
			continue;
		store = openat(mounts->root, &TRUST_KEYSTORE[1],
		    O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (store < 0)
			return problem_errno(
			    reterr, "cannot open the key store");
		status = mounts_copy(store, "", MOUNTS_BOUND, &tree, reterr);
		if (status == STATUS_OK)
			status = mounts_attach(mounts, tree, at, reterr);
	}
	return status;
}

static int
cover_below(struct mounts *mounts, const char *home, struct problem *reterr)
{
	ON_SCOPE_EXIT(directory_done) DIR *directory = NULL;
	int fd = openat(mounts->root, home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *item;
	int status = STATUS_OK;

	if (fd < 0)
		return STATUS_OK;
	directory = fdopendir(fd);
	if (directory == NULL) {
		(void)close(fd);
		return problem_errno(reterr, "cannot read /%s", home);
	}
	while (status == STATUS_OK && (item = readdir(directory)) != NULL)
		if (item->d_name[0] != '.')
			status = cover(mounts, home, item->d_name, reterr);
	return status;
}

/* ---- all of it ---- */

static int
lay(struct mounts *mounts, size_t place, const struct texts *texts,
    struct problem *reterr)
{
	const char *at = places[place].at;

	switch (forms[place]) {
	case FORM_BUNDLE:
		return mounts_file(mounts, at, texts->bytes[HANDOFF_BUNDLE],
		    texts->sizes[HANDOFF_BUNDLE], reterr);
	case FORM_KEYSTORE:
		return mounts_file(mounts, at, texts->bytes[HANDOFF_KEYSTORE],
		    texts->sizes[HANDOFF_KEYSTORE], reterr);
	case FORM_LINK:
		return mounts_link(mounts, at, TRUST_BUNDLE, reterr);
	case FORM_BROWSER:
		break;
	}
	return lay_browser(mounts, at, texts, reterr);
}

int
trust_lay(struct mounts *mounts, const int trust[HANDOFF_TRUST_COUNT],
    struct problem *reterr)
{
	ON_SCOPE_EXIT(texts_done) struct texts texts = { 0 };
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < HANDOFF_TRUST_COUNT; i++)
		status = take(&texts, i, trust[i], reterr);
	for (size_t i = 0; status == STATUS_OK && i < PLACES; i++)
		status = lay(mounts, i, &texts, reterr);
	for (size_t i = 0; status == STATUS_OK &&
			   i < sizeof(java_homes) / sizeof(java_homes[0]);
	     i++)
		status = cover_below(mounts, java_homes[i], reterr);
	return status;
}
