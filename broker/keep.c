#include "broker/keep.h"

#include "schema/limits.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NAME_MAX_BYTES = 200 /* and an ending, in a file's name of 255 */
};

struct keep {
	int folder;
};

struct keep_entry {
	int folder; /* borrowed */
	int lock;
	char name[NAME_MAX_BYTES + 8], fresh[NAME_MAX_BYTES + 8];
	struct secret *secret;
};

static void
close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

struct keep *
keep_new(int folder, struct problem *reterr)
{
	struct keep *keep = calloc(1, sizeof(*keep));
	struct stat st;

	if (keep == NULL || fstat(folder, &st) != 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		(void)problem_set(reterr,
		    "the folder for tokens that were renewed is not ours "
		    "alone");
		(void)close(folder);
		free(keep);
		return NULL;
	}
	keep->folder = folder;
	return keep;
}

void
keep_free(struct keep *keep)
{
	if (keep == NULL)
		return;
	(void)close(keep->folder);
	free(keep);
}

static bool
is_word(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= NAME_MAX_BYTES && name[0] != '.' &&
	       strspn(name,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		   "0123456789-_.") == length;
}

/* What the file holds, or nothing where there is none. */
static int
read_entry(struct keep_entry *entry, struct problem *reterr)
{
	ON_SCOPE_EXIT(close_fd)
	int fd = openat(
	    entry->folder, entry->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct secret *secret;
	struct stat st;
	ssize_t got;

	if (fd < 0 && errno == ENOENT)
		return STATUS_OK;
	if (fd < 0 || fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot read %s", entry->name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IRWXG | S_IRWXO)) != 0 || st.st_size <= 0 ||
	    st.st_size > LIMIT_SECRET)
		return problem_set(
		    reterr, "%s is not a kept secret of ours", entry->name);
	secret = secret_room((size_t)st.st_size);
	if (secret == NULL)
		return problem_set(reterr, "no memory for a secret");
	got = read(fd, secret_fill(secret), (size_t)st.st_size);
	if (got != st.st_size) {
		secret_free(secret);
		return problem_set(reterr, "cannot read %s", entry->name);
	}
	entry->secret = secret;
	return STATUS_OK;
}

static int
lock_entry(struct keep_entry *entry, struct problem *reterr)
{
	char path[NAME_MAX_BYTES + 8];

	if (snprintf(path, sizeof(path), "%s.lock", entry->name) < 0)
		return problem_set(reterr, "no name for a lock");
	entry->lock = openat(entry->folder, path,
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	if (entry->lock < 0)
		return problem_errno(reterr, "cannot open %s", path);
	if (flock(entry->lock, LOCK_EX | LOCK_NB) == 0)
		return STATUS_OK;
	if (errno == EWOULDBLOCK)
		return STATUS_AGAIN;
	return problem_errno(reterr, "cannot lock %s", path);
}

int
keep_take(struct keep *keep, const char *name, struct keep_entry **ret,
    struct problem *reterr)
{
	struct keep_entry *entry;
	int status;

	if (!is_word(name))
		return problem_set(reterr, "%.100s is no name to keep", name);
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return problem_set(reterr, "no memory for a kept secret");
	entry->folder = keep->folder;
	entry->lock = -1;
	memcpy(entry->name, name, strlen(name) + 1);
	if (snprintf(entry->fresh, sizeof(entry->fresh), "%s.new", name) < 0)
		entry->fresh[0] = '\0';
	status = lock_entry(entry, reterr);
	if (status == STATUS_OK)
		status = read_entry(entry, reterr);
	if (status != STATUS_OK) {
		keep_release(entry);
		return status;
	}
	*ret = entry;
	return STATUS_OK;
}

const struct secret *
keep_secret(const struct keep_entry *entry)
{
	return entry->secret;
}

static int
write_fresh(const struct keep_entry *entry, struct cursor bytes)
{
	ON_SCOPE_EXIT(close_fd)
	int fd = -1;

	/* What a writer before us left half done goes. */
	if (unlinkat(entry->folder, entry->fresh, 0) == 0 || errno == ENOENT)
		fd = openat(entry->folder, entry->fresh,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		    S_IRUSR | S_IWUSR);
	if (fd < 0 || write(fd, bytes.at, bytes.left) != (ssize_t)bytes.left ||
	    fsync(fd) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
keep_put(struct keep_entry *entry, struct cursor bytes, struct problem *reterr)
{
	struct secret *secret = secret_new(bytes);

	if (secret == NULL || bytes.left == 0) {
		secret_free(secret);
		return problem_set(reterr, "no memory for a secret");
	}
	if (write_fresh(entry, bytes) != STATUS_OK ||
	    renameat(entry->folder, entry->fresh, entry->folder, entry->name) !=
		0 ||
	    fsync(entry->folder) != 0) {
		secret_free(secret);
		return problem_errno(reterr, "cannot keep %s", entry->name);
	}
	secret_free(entry->secret);
	entry->secret = secret;
	return STATUS_OK;
}

void
keep_release(struct keep_entry *entry)
{
	if (entry == NULL)
		return;
	secret_free(entry->secret);
	close_fd(&entry->lock);
	free(entry);
}
