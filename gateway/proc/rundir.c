#include "gateway/proc/rundir.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const char socket_name[] = "socket";
static const char lock_name[] = "lock";

/* The base is removed by others as often as this while we open it. */
#define TRIES 100

struct rundir {
	char *base;
	char run[LIMIT_RUN_UID + 1];
	int folder, lock, socket;
};

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* A name that leads nowhere else. */
static bool
is_run_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= LIMIT_RUN_UID && name[0] != '.' &&
	       strchr(name, '/') == NULL;
}

/* Others could put a folder of theirs in the place of ours. */
static int
check_private(int fd, const char *path, struct problem *reterr)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (st.st_uid == geteuid() && (st.st_mode & (S_IRWXG | S_IRWXO)) == 0)
		return STATUS_OK;
	(void)problem_set(
	    reterr, "the folder %s is open to other accounts", path);
	return problem_cure(reterr, "give it to yourself, with mode 0700");
}

/* STATUS_NOT_FOUND when it is not there, or not there any more. */
static int
open_base(const char *base, int *ret_fd, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int status;

	if (fd < 0 && errno == ENOENT)
		return STATUS_NOT_FOUND;
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", base);
	status = check_private(fd, base, reterr);
	if (status != STATUS_OK)
		return status;
	while (flock(fd, LOCK_EX) != 0)
		if (errno != EINTR)
			return problem_errno(reterr, "cannot lock %s", base);
	/* While we waited for the lock, its holder may have removed it. */
	if (fstat(fd, &st) != 0 || st.st_nlink == 0)
		return STATUS_NOT_FOUND;
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

static int
make_base(const char *base, int *ret_fd, struct problem *reterr)
{
	for (int i = 0; i < TRIES; i++) {
		int status;

		if (mkdir(base, S_IRWXU) != 0 && errno != EEXIST)
			return problem_errno(reterr, "cannot make %s", base);
		status = open_base(base, ret_fd, reterr);
		if (status != STATUS_NOT_FOUND)
			return status;
	}
	return problem_set(reterr, "%s is removed over and over", base);
}

static int
open_run(int base, const char *run)
{
	return openat(
	    base, run, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Whether somebody holds its lock. */
static bool
is_alive(int folder)
{
	ON_SCOPE_EXIT(fd_done)
	int lock = openat(folder, lock_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0 &&
	       errno == EWOULDBLOCK;
}

static void
remove_run(int base, int folder, const char *run)
{
	(void)unlinkat(folder, socket_name, 0);
	(void)unlinkat(folder, lock_name, 0);
	(void)unlinkat(base, run, AT_REMOVEDIR);
}

/* Removes it unless it is alive. */
static bool
look_at(int base, const char *run)
{
	ON_SCOPE_EXIT(fd_done)
	int folder = open_run(base, run);

	if (folder < 0)
		return false;
	if (is_alive(folder))
		return true;
	remove_run(base, folder, run);
	return false;
}

static void
free_names(struct dirent **names, int count)
{
	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

static int
on_name(const struct dirent *entry)
{
	return is_run_name(entry->d_name);
}

/* Removes what dead runs left; tells of the others when there is a call. */
static int
sweep(int base, rundir_call *call, void *arg, struct problem *reterr)
{
	struct dirent **names = NULL;
	int count = scandirat(base, ".", &names, on_name, alphasort);

	if (count < 0)
		return problem_errno(reterr, "cannot list the runs");
	for (int i = 0; i < count; i++)
		if (look_at(base, names[i]->d_name) && call != NULL)
			call(names[i]->d_name, arg);
	free_names(names, count);
	return STATUS_OK;
}

/* Through the folder's descriptor: a path may be longer than an address. */
static int
address_in(int folder, struct sockaddr_un *ret, struct problem *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length = snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/%s", folder, socket_name);

	if (length < 0 || (size_t)length >= sizeof(address.sun_path))
		return problem_set(reterr, "an address is too long");
	*ret = address;
	return STATUS_OK;
}

static int
begin_listening(struct rundir *rundir, struct problem *reterr)
{
	struct sockaddr_un address;
	int status = address_in(rundir->folder, &address, reterr);

	if (status != STATUS_OK)
		return status;
	rundir->socket =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The folder is closed to others; the socket need not be. */
	if (rundir->socket < 0 ||
	    bind(rundir->socket, (const struct sockaddr *)&address,
		sizeof(address)) != 0 ||
	    listen(rundir->socket, LIMIT_DESK_CALLERS) != 0)
		return problem_errno(reterr, "cannot listen for commands");
	return STATUS_OK;
}

static int
fill_folder(struct rundir *rundir, int base, struct problem *reterr)
{
	if (mkdirat(base, rundir->run, S_IRWXU) != 0)
		return problem_errno(
		    reterr, "cannot make the folder of %s", rundir->run);
	rundir->folder = open_run(base, rundir->run);
	if (rundir->folder < 0)
		return problem_errno(
		    reterr, "cannot open the folder of %s", rundir->run);
	rundir->lock = openat(rundir->folder, lock_name,
	    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (rundir->lock < 0 || flock(rundir->lock, LOCK_EX | LOCK_NB) != 0)
		return problem_errno(reterr, "cannot lock %s", rundir->run);
	return begin_listening(rundir, reterr);
}

static void
rundir_free(struct rundir *rundir)
{
	fd_done(&rundir->socket);
	fd_done(&rundir->lock);
	fd_done(&rundir->folder);
	free(rundir->base);
	free(rundir);
}

int
rundir_make(const char *base, const char *run, struct rundir **ret,
    struct problem *reterr)
{
	struct rundir *rundir = calloc(1, sizeof(*rundir));
	ON_SCOPE_EXIT(fd_done)
	int fd = -1;
	int status;

	if (rundir == NULL)
		return problem_set(reterr, "there is no memory");
	*rundir = (struct rundir){ .folder = -1, .lock = -1, .socket = -1 };
	rundir->base = strdup(base);
	if (!is_run_name(run) || rundir->base == NULL) {
		rundir_free(rundir);
		return problem_set(reterr, "%s names no run", run);
	}
	memcpy(rundir->run, run, strlen(run));
	status = make_base(base, &fd, reterr);
	if (status == STATUS_OK)
		status = sweep(fd, NULL, NULL, reterr);
	if (status == STATUS_OK)
		status = fill_folder(rundir, fd, reterr);
	if (status != STATUS_OK) {
		if (rundir->folder >= 0)
			remove_run(fd, rundir->folder, run);
		rundir_free(rundir);
		return status;
	}
	*ret = rundir;
	return STATUS_OK;
}

void
rundir_remove(struct rundir *rundir)
{
	ON_SCOPE_EXIT(fd_done)
	int base = -1;

	if (rundir == NULL)
		return;
	if (open_base(rundir->base, &base, NULL) == STATUS_OK) {
		remove_run(base, rundir->folder, rundir->run);
		/* It fails, and should, while there are other runs. */
		(void)rmdir(rundir->base);
	}
	rundir_free(rundir);
}

int
rundir_socket(const struct rundir *rundir)
{
	return rundir->socket;
}

bool
rundir_is_ours(int socket)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) ==
		   0 &&
	       peer.uid == geteuid();
}

int
rundir_each(
    const char *base, rundir_call *call, void *arg, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = -1;
	int status = open_base(base, &fd, reterr);

	if (status == STATUS_NOT_FOUND)
		return STATUS_OK;
	if (status != STATUS_OK)
		return status;
	return sweep(fd, call, arg, reterr);
}

static int
connect_in(int folder, int *ret_fd, struct problem *reterr)
{
	struct sockaddr_un address;
	int status = address_in(folder, &address, reterr);
	ON_SCOPE_EXIT(fd_done)
	int fd = -1;

	if (status != STATUS_OK)
		return status;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return problem_errno(reterr, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0)
		return errno == ENOENT || errno == ECONNREFUSED
			   ? STATUS_NOT_FOUND
			   : problem_errno(reterr, "cannot reach the run");
	if (!rundir_is_ours(fd))
		return problem_set(reterr, "the run is another account's");
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

int
rundir_connect(
    const char *base, const char *run, int *ret_fd, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = -1;
	ON_SCOPE_EXIT(fd_done)
	int folder = -1;
	int status;

	if (!is_run_name(run))
		return STATUS_NOT_FOUND;
	status = open_base(base, &fd, reterr);
	if (status != STATUS_OK)
		return status;
	folder = open_run(fd, run);
	if (folder < 0)
		return STATUS_NOT_FOUND;
	return connect_in(folder, ret_fd, reterr);
}
