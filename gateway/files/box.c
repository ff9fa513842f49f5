#include "gateway/files/box.h"

#include "gateway/files/beneath.h"
#include "gateway/files/purge.h"
#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BOXES "boxes"
#define GONE ".gone-"
#define NS_A_SECOND INT64_C(1000000000)

/* Its 22nd field stands behind a name that may have anything in it. */
#define STAT_BYTES 2048
#define STAT_START 22
#define STAT_STATE 3

/* ---- the process that must be gone ---- */

/* The state and start time of a process; false when there is none. */
static bool
look_up(uint64_t pid, char *ret_state, uint64_t *ret_start)
{
	char path[64], text[STAT_BYTES];
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	struct cursor in, word;
	const char *behind;
	ssize_t length;

	if (snprintf(path, sizeof(path), "/proc/%llu/stat",
		(unsigned long long)pid) < 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	behind = strrchr(text, ')');
	if (behind == NULL || behind[1] != ' ')
		return false;
	in = cursor_of_text(behind + 2);
	*ret_state = behind[2];
	for (int field = STAT_STATE; field < STAT_START; field++)
		if (!cursor_until(&in, ' ', &word))
			return false;
	return cursor_decimal(&in, UINT64_MAX, ret_start);
}

int
box_note_init(int folder, pid_t pid)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, "init",
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
	    S_IRUSR | S_IWUSR);
	uint64_t start;
	char text[64], state;
	int length;

	if (fd < 0 || !look_up((uint64_t)pid, &state, &start))
		return STATUS_SYSTEM;
	length = snprintf(
	    text, sizeof(text), "%d %llu\n", pid, (unsigned long long)start);
	return length > 0 && write(fd, text, (size_t)length) == length
		   ? STATUS_OK
		   : STATUS_SYSTEM;
}

/* The process that was noted; false when there was none. */
static bool
read_note(int folder, uint64_t *ret_pid, uint64_t *ret_start)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, "init", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[64];
	struct cursor in;
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (length <= 0)
		return false;
	in = cursor_of(text, (size_t)length);
	return cursor_decimal(&in, INT32_MAX, ret_pid) &&
	       cursor_literal(&in, " ") &&
	       cursor_decimal(&in, UINT64_MAX, ret_start);
}

/* While it is dying its sandbox may still write; as a zombie it has none. */
static bool
init_is_gone(int folder)
{
	uint64_t pid, noted, start;
	char state;

	return !read_note(folder, &pid, &noted) ||
	       !look_up(pid, &state, &start) || start != noted ||
	       state == 'Z' || state == 'X';
}

int
box_settle(const struct box *box)
{
	ON_SCOPE_EXIT(fd_done) int process = -1;
	struct pollfd wait = { .events = POLLIN };
	uint64_t pid, noted;

	if (!read_note(box->folder, &pid, &noted))
		return STATUS_OK;
	process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	/* Asked again: the number may be another's since it was noted. */
	if (process < 0 || init_is_gone(box->folder))
		return STATUS_OK;
	wait.fd = process;
	return poll(&wait, 1, LIMIT_SIBLING_MS) == 1 ? STATUS_OK
						     : STATUS_TIMEOUT;
}

/* ---- the store ---- */

static int
make_private(const char *path, struct problem *reterr)
{
	struct stat st;

	if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
		return problem_errno(reterr, "cannot make %s", path);
	if (lstat(path, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
		return STATUS_OK;
	(void)problem_set(
	    reterr, "the folder %s is open to other accounts", path);
	return problem_cure(reterr, "give it to yourself, with mode 0700");
}

static int
path_of(const char *store, const char *name, char *out, struct problem *reterr)
{
	int length = snprintf(out, LIMIT_PATH, "%s/%s%s%s", store, BOXES,
	    name[0] == '\0' ? "" : "/", name);

	if (length < 0 || length >= LIMIT_PATH)
		return problem_set(reterr, "the path of %s is too long", store);
	return STATUS_OK;
}

static bool
is_run_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= LIMIT_RUN_UID && name[0] != '.' &&
	       strchr(name, '/') == NULL;
}

/* The folder of all boxes, locked against who makes or removes others. */
static int
open_boxes(const char *store, int *ret_fd, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	char path[LIMIT_PATH];
	int status = path_of(store, "", path, reterr);

	if (status != STATUS_OK)
		return status;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return STATUS_NOT_FOUND;
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	while (flock(fd, LOCK_EX) != 0)
		if (errno != EINTR)
			return problem_errno(reterr, "cannot lock %s", path);
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

static int
make_boxes(const char *store, int *ret_fd, struct problem *reterr)
{
	char path[LIMIT_PATH];
	int status = path_of(store, "", path, reterr);

	if (status == STATUS_OK)
		status = make_private(store, reterr);
	if (status == STATUS_OK)
		status = make_private(path, reterr);
	return status == STATUS_OK ? open_boxes(store, ret_fd, reterr) : status;
}

/* ---- one box ---- */

static int
hold(struct box *box, int flags)
{
	box->lock = openat(
	    box->folder, "lock", O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
	if (box->lock < 0)
		return STATUS_SYSTEM;
	return flock(box->lock, LOCK_EX | LOCK_NB) == 0 ? STATUS_OK
							: STATUS_AGAIN;
}

/* What the sandbox itself works with must be the workspace's owner's. */
static int
give(const struct box *box, const struct manifest *manifest)
{
	static const char *const names[] = { "upper", "work", "hidden", "." };
	struct stat st;

	if (geteuid() != 0)
		return STATUS_OK;
	if (stat(manifest->workspace, &st) != 0)
		return STATUS_SYSTEM;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (fchownat(box->folder, names[i], st.st_uid, st.st_gid,
			AT_SYMLINK_NOFOLLOW) != 0)
			return STATUS_SYSTEM;
	return STATUS_OK;
}

static int
fill(struct box *box, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int hidden = -1;
	struct stat st;

	if (hold(box, O_CREAT | O_EXCL) != STATUS_OK ||
	    mkdirat(box->folder, "upper", S_IRWXU) != 0 ||
	    mkdirat(box->folder, "work", S_IRWXU) != 0)
		return problem_errno(reterr, "cannot fill %s", box->path);
	hidden = openat(box->folder, "hidden",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (hidden < 0 || fstat(box->lock, &st) != 0 ||
	    give(box, &box->manifest) != STATUS_OK)
		return problem_errno(reterr, "cannot fill %s", box->path);
	/* By the clock that stamps files, which is not the finest one. */
	if (box->manifest.base_ns == 0)
		box->manifest.base_ns =
		    st.st_mtim.tv_sec * NS_A_SECOND + st.st_mtim.tv_nsec;
	return manifest_write(box->folder, "manifest", &box->manifest, reterr);
}

/* The workspace's own mode: the overlay shows the upper one's at its root. */
static int
copy_mode(const struct box *box, struct problem *reterr)
{
	struct stat st;

	if (stat(box->manifest.workspace, &st) != 0 ||
	    fchmodat(box->folder, "upper", st.st_mode & 01777, 0) != 0)
		return problem_errno(reterr, "cannot take on the mode of %s",
		    box->manifest.workspace);
	return STATUS_OK;
}

static int
make_in(int boxes, struct box *box, struct problem *reterr)
{
	const char *name = box->manifest.name;
	int status;

	if (mkdirat(boxes, name, S_IRWXU) != 0)
		return problem_errno(reterr, "cannot make %s", box->path);
	box->folder = beneath_open(boxes, name, O_RDONLY | O_DIRECTORY);
	if (box->folder < 0)
		return problem_errno(reterr, "cannot open %s", box->path);
	status = fill(box, reterr);
	return status == STATUS_OK ? copy_mode(box, reterr) : status;
}

int
box_make(const char *store, const struct manifest *manifest, struct box *ret,
    struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int boxes = -1;
	struct box box = { .folder = -1, .lock = -1, .manifest = *manifest };
	int status = path_of(store, manifest->name, box.path, reterr);

	if (status != STATUS_OK)
		return status;
	/* path_of() had room for it and more. */
	memcpy(box.store, store, strlen(store) + 1);
	if (!is_run_name(manifest->name))
		return problem_set(reterr, "%s names no run", manifest->name);
	status = make_boxes(store, &boxes, reterr);
	if (status == STATUS_OK)
		status = make_in(boxes, &box, reterr);
	if (status != STATUS_OK) {
		if (box.folder >= 0)
			(void)!purge(boxes, manifest->name);
		box_done(&box);
		return status;
	}
	*ret = box;
	return STATUS_OK;
}

void
box_tidy(const struct box *box)
{
	(void)!purge(box->folder, "work");
}

/* STATUS_AGAIN while somebody works with it. */
static int
open_in(int boxes, const char *run, struct box *box, struct problem *reterr)
{
	int status;

	box->folder = beneath_open(boxes, run, O_RDONLY | O_DIRECTORY);
	if (box->folder < 0)
		return errno == ENOENT
			   ? STATUS_NOT_FOUND
			   : problem_errno(reterr, "cannot open %s", run);
	status = hold(box, 0);
	if (status == STATUS_SYSTEM)
		return problem_errno(reterr, "cannot lock %s", run);
	if (status == STATUS_OK && !init_is_gone(box->folder))
		status = STATUS_AGAIN;
	if (status != STATUS_OK)
		return status;
	box_tidy(box);
	status = manifest_read(box->folder, "manifest", &box->manifest, reterr);
	if (status == STATUS_NOT_FOUND)
		return problem_set(reterr, "%s has no manifest", run);
	return status;
}

int
box_open(
    const char *store, const char *run, struct box *ret, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int boxes = -1;
	struct box box = { .folder = -1, .lock = -1 };
	int status;

	if (!is_run_name(run))
		return STATUS_NOT_FOUND;
	status = path_of(store, run, box.path, reterr);
	if (status != STATUS_OK)
		return status;
	memcpy(box.store, store, strlen(store) + 1);
	status = open_boxes(store, &boxes, reterr);
	if (status == STATUS_OK)
		status = open_in(boxes, run, &box, reterr);
	if (status != STATUS_OK) {
		box_done(&box);
		return status;
	}
	*ret = box;
	return STATUS_OK;
}

void
box_done(struct box *box)
{
	fd_done(&box->lock);
	fd_done(&box->folder);
}

/* Out of the way first: what is half removed is no box any more. */
static bool
set_aside(int boxes, const char *name, char gone[NAME_MAX + 1])
{
	return snprintf(gone, NAME_MAX + 1, GONE "%s", name) <= NAME_MAX &&
	       renameat(boxes, name, boxes, gone) == 0;
}

/*
 * Removes what was set aside, unless somebody else is about to: two that
 * empty one folder would each miss what the other took.  The lock is the
 * folder's own, since the file "lock" in it is among what goes.
 */
static int
remove_aside(int boxes, const char *gone)
{
	ON_SCOPE_EXIT(fd_done)
	int folder = beneath_open(boxes, gone, O_RDONLY | O_DIRECTORY);

	if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) != 0)
		return STATUS_OK;
	return purge(boxes, gone);
}

int
box_remove(struct box *box, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int boxes = -1;
	char gone[NAME_MAX + 1];
	int status = open_boxes(box->store, &boxes, reterr);

	if (status == STATUS_OK && !set_aside(boxes, box->manifest.name, gone))
		status = problem_errno(reterr, "cannot remove %s", box->path);
	box_done(box);
	if (status != STATUS_OK)
		return status;
	(void)flock(boxes, LOCK_UN);
	if (remove_aside(boxes, gone) != STATUS_OK)
		return problem_errno(
		    reterr, "cannot remove what is in %s", box->path);
	return STATUS_OK;
}

/* ---- all of them ---- */

static int
on_run_name(const struct dirent *entry)
{
	return is_run_name(entry->d_name);
}

static int
on_gone_name(const struct dirent *entry)
{
	return strncmp(entry->d_name, GONE, strlen(GONE)) == 0;
}

static void
tell(int boxes, const char *name, box_call *call, void *arg)
{
	struct box box = { .folder = -1, .lock = -1 };
	int status = open_in(boxes, name, &box, NULL);

	if (status == STATUS_AGAIN && manifest_read(box.folder, "manifest",
					  &box.manifest, NULL) == STATUS_OK)
		call(&box.manifest, true, arg);
	else if (status == STATUS_OK)
		call(&box.manifest, false, arg);
	box_done(&box);
}

static void
free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

int
box_each(const char *store, box_call *call, void *arg, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int boxes = -1;
	struct dirent **names = NULL;
	int status = open_boxes(store, &boxes, reterr), count;

	if (status == STATUS_NOT_FOUND)
		return STATUS_OK;
	if (status != STATUS_OK)
		return status;
	count = scandirat(boxes, ".", &names, on_run_name, alphasort);
	if (count < 0)
		return problem_errno(reterr, "cannot list the runs' files");
	for (int i = 0; i < count; i++)
		tell(boxes, names[i]->d_name, call, arg);
	free_names(names, count);
	return STATUS_OK;
}

/* Discarded, or never filled: nobody will ask for it. */
static bool
is_rubbish(int boxes, const char *name)
{
	struct box box = { .folder = -1, .lock = -1 };
	int status = open_in(boxes, name, &box, NULL);
	struct stat st;
	bool rubbish = status == STATUS_OK && box.manifest.discard;

	/* Killed while it was made, under the lock that we hold now. */
	if (status == STATUS_PROBLEM && box.folder >= 0)
		rubbish = fstatat(box.folder, "manifest", &st, 0) != 0 &&
			  errno == ENOENT;
	box_done(&box);
	return rubbish;
}

void
box_sweep(const char *store)
{
	ON_SCOPE_EXIT(fd_done) int boxes = -1;
	struct dirent **names = NULL;
	char gone[NAME_MAX + 1];
	int count;

	if (open_boxes(store, &boxes, NULL) != STATUS_OK)
		return;
	count = scandirat(boxes, ".", &names, on_run_name, alphasort);
	for (int i = 0; i < count; i++)
		if (is_rubbish(boxes, names[i]->d_name))
			(void)set_aside(boxes, names[i]->d_name, gone);
	free_names(names, count);
	names = NULL;
	(void)flock(boxes, LOCK_UN);
	count = scandirat(boxes, ".", &names, on_gone_name, alphasort);
	for (int i = 0; i < count; i++)
		(void)!remove_aside(boxes, names[i]->d_name);
	free_names(names, count);
}
