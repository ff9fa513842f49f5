#include "gateway/tls/trust_store.h"

#include "gateway/tls/jks.h"
#include "gateway/tls/run_ca.h"
#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct trust_store {
	char *text;
	size_t used, room;
};

/* Where systems keep them: files of all roots first, then folders of one. */
static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Gentoo */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora */
	"/etc/pki/tls/certs/ca-bundle.crt", /* older ones of the family */
	"/etc/ssl/ca-bundle.pem", /* SUSE */
	"/etc/pki/tls/cacert.pem",
	"/etc/ssl/cert.pem", /* Alpine */
	"/etc/ssl/certs",
	"/etc/pki/tls/certs",
};

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static void
directory_done(DIR **directory)
{
	if (*directory != NULL)
		(void)closedir(*directory);
}

/* Room for size more bytes and for a line's end. */
static int
store_grow(struct trust_store *store, size_t size)
{
	size_t room = store->room == 0 ? 65536 : store->room;
	char *text;

	if (size > LIMIT_ROOTS_BYTES || store->used > LIMIT_ROOTS_BYTES - size)
		return STATUS_TOO_LONG;
	while (room - store->used < size + 1)
		room *= 2;
	if (room == store->room)
		return STATUS_OK;
	text = reallocarray(store->text, room, 1);
	if (text == NULL)
		return STATUS_NO_MEMORY;
	store->text = text;
	store->room = room;
	return STATUS_OK;
}

/* Appends the file, and ends its last line. */
static int
add_open(struct trust_store *store, int fd)
{
	const size_t step = 65536;
	ssize_t got;

	do {
		int status = store_grow(store, step);

		if (status != STATUS_OK)
			return status;
		got = read(fd, store->text + store->used, step);
		if (got < 0 && errno != EINTR)
			return STATUS_SYSTEM;
		store->used += got > 0 ? (size_t)got : 0;
	} while (got != 0);
	if (store->used > 0 && store->text[store->used - 1] != '\n')
		store->text[store->used++] = '\n';
	return STATUS_OK;
}

static bool
name_is_certificate(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL &&
	       (strcmp(dot, ".pem") == 0 || strcmp(dot, ".crt") == 0);
}

/*
 * Takes folder.  One of its files that cannot be read is as if it were not
 * there.
 */
static int
store_add_folder(struct trust_store *store, int folder)
{
	ON_SCOPE_EXIT(directory_done) DIR *directory = fdopendir(folder);
	struct dirent *item;
	int status = STATUS_OK;

	if (directory == NULL) {
		(void)close(folder);
		return STATUS_SYSTEM;
	}
	while (status == STATUS_OK && (item = readdir(directory)) != NULL) {
		ON_SCOPE_EXIT(fd_done) int fd = -1;

		if (!name_is_certificate(item->d_name))
			continue;
		fd = openat(dirfd(directory), item->d_name,
		    O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			status = add_open(store, fd);
	}
	return status;
}

static int
store_add(struct trust_store *store, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;
	struct stat st;

	if (fd < 0)
		return STATUS_SYSTEM;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return store_add_folder(store, fd);
	status = add_open(store, fd);
	(void)close(fd);
	return status;
}

static bool
store_has_certificate(const struct trust_store *store)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----";

	return store->used > 0 && memmem(store->text, store->used, begin,
				      sizeof(begin) - 1) != NULL;
}

struct trust_store *
trust_store_read(const char *path, struct problem *reterr)
{
	struct trust_store *store = calloc(1, sizeof(*store));
	int status;

	if (store == NULL) {
		(void)problem_set(reterr, "no memory to read %s", path);
		return NULL;
	}
	status = store_add(store, path);
	if (status == STATUS_OK && store_has_certificate(store))
		return store;
	if (status == STATUS_OK)
		(void)problem_set(reterr, "no certificate in %s", path);
	else if (status == STATUS_SYSTEM)
		(void)problem_errno(reterr, "cannot read %s", path);
	else
		(void)problem_set(
		    reterr, "cannot read %s: %s", path, status_name(status));
	trust_store_free(store);
	return NULL;
}

struct trust_store *
trust_store_new(struct problem *reterr)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], F_OK) == 0)
			return trust_store_read(places[i], reterr);
	}
	(void)problem_set(reterr, "this machine has no root certificates");
	(void)problem_cure(reterr,
	    "install them (the package is usually called ca-certificates)");
	return NULL;
}

void
trust_store_free(struct trust_store *store)
{
	if (store == NULL)
		return;
	free(store->text);
	free(store);
}

struct cursor
trust_store_roots(const struct trust_store *store)
{
	return cursor_of(store->text, store->used);
}

static int
write_all(int fd, struct cursor text)
{
	while (text.left > 0) {
		ssize_t put = write(fd, text.at, text.left);

		if (put < 0 && errno != EINTR)
			return STATUS_SYSTEM;
		if (put > 0 && !cursor_skip(&text, (size_t)put))
			return STATUS_SYSTEM;
	}
	return STATUS_OK;
}

/* A memfd with the texts, that nobody can change any more. */
static int
seal(const struct cursor *texts, size_t count, int *ret_fd,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = memfd_create("exeat-trust", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return problem_errno(reterr, "cannot make the trust bundle");
	for (size_t i = 0; i < count; i++)
		if (write_all(fd, texts[i]) != STATUS_OK)
			return problem_errno(
			    reterr, "cannot write the trust bundle");
	if (fcntl(fd, F_ADD_SEALS,
		F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0)
		return problem_errno(reterr, "cannot seal the trust bundle");
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

#define TEXTS 2 /* the roots and the authority */

static void
gather(const struct trust_store *store, const struct run_ca *ca,
    struct cursor ret[TEXTS])
{
	ret[0] = store == NULL ? cursor_of(NULL, 0) : trust_store_roots(store);
	ret[1] = run_ca_pem(ca);
}

int
trust_store_bundle(const struct trust_store *store, const struct run_ca *ca,
    int *ret_fd, struct problem *reterr)
{
	struct cursor texts[TEXTS];

	gather(store, ca, texts);
	return seal(texts, TEXTS, ret_fd, reterr);
}

int
trust_store_keystore(const struct trust_store *store, const struct run_ca *ca,
    int *ret_fd, struct problem *reterr)
{
	struct cursor texts[TEXTS], written;
	struct cursor_writer out;
	unsigned char *bytes;
	size_t size;
	int status;

	gather(store, ca, texts);
	size = texts[0].left + texts[1].left + JKS_MORE;
	bytes = malloc(size);
	if (bytes == NULL)
		return problem_set(reterr, "no memory for a key store");
	out = cursor_writer_of(bytes, size);
	status = jks_write(texts, TEXTS, &out);
	written = cursor_of(bytes, out.used);
	if (status == STATUS_OK)
		status = seal(&written, 1, ret_fd, reterr);
	else
		status = problem_set(
		    reterr, "cannot make a key store: %s", status_name(status));
	free(bytes);
	return status;
}
