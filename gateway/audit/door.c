#include "gateway/audit/door.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

struct door {
	int folder, lock, socket;
	struct sockaddr_un address; /* through the folder's descriptor */
	char name[NAME_MAX + 1]; /* of the socket, in the folder */
	char hidden[NAME_MAX + 1]; /* its name while it is hidden */
};

static void
fd_done(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

/* The folder of path, which must be ours alone; gives its last part. */
static int
open_folder(struct door *door, const char *path, const char **ret_name,
    struct problem *reterr)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	struct stat st;

	/* ".sock" must fit behind it. */
	if (length >= sizeof(folder) || strlen(name) + 6 > NAME_MAX ||
	    *name == '\0')
		return problem_set(reterr, "%s is no name for a file", path);
	memcpy(folder, path, length);
	folder[length] = '\0';
	door->folder = open(
	    length == 0 ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (door->folder < 0 || fstat(door->folder, &st) != 0)
		return problem_errno(
		    reterr, "cannot open the folder of %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		(void)problem_set(
		    reterr, "the folder of %s can be written by others", path);
		return problem_cure(reterr,
		    "Name a file in a folder of your own, with mode 0700.");
	}
	*ret_name = name;
	return STATUS_OK;
}

/* The address of a file in an open folder. */
static struct sockaddr_un
address_in(int folder, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int used = snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/%s", folder, name);

	/* Too long even so: an empty path, which nothing listens at. */
	if (used < 0 || (size_t)used >= sizeof(address.sun_path))
		address.sun_path[0] = '\0';
	return address;
}

static bool
name_beside(const char *name, const char *ending, char out[NAME_MAX + 1])
{
	int used = snprintf(out, NAME_MAX + 1, "%s.%s", name, ending);

	return used > 0 && used <= NAME_MAX;
}

static bool
is_our_user(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

static int
connect_in(int folder, const char *name, int *ret_fd)
{
	struct sockaddr_un address = address_in(folder, name);
	ON_SCOPE_EXIT(fd_done)
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return STATUS_SYSTEM;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0)
		return errno == ENOENT || errno == ECONNREFUSED
			   ? STATUS_NOT_FOUND
			   : STATUS_SYSTEM;
	if (!is_our_user(fd))
		return STATUS_REFUSED;
	*ret_fd = steal_fd(&fd);
	return STATUS_OK;
}

/* The lock is another's: does that one answer? */
static int
knock(const struct door *door)
{
	int fd;
	int status = connect_in(door->folder, door->name, &fd);

	if (status != STATUS_OK)
		return STATUS_AGAIN;
	(void)close(fd);
	return STATUS_REFUSED;
}

static int
take_lock(struct door *door, const char *name, const char *path,
    struct problem *reterr)
{
	char full[NAME_MAX + 1];

	if (!name_beside(name, "lock", full) ||
	    !name_beside(name, "sock", door->name) ||
	    !name_beside(name, "gone", door->hidden))
		return problem_set(reterr, "%s is too long a name", path);
	door->lock = openat(door->folder, full,
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
	if (door->lock < 0)
		return problem_errno(reterr, "cannot make %s.lock", path);
	if (flock(door->lock, LOCK_EX | LOCK_NB) == 0)
		return STATUS_OK;
	if (errno != EWOULDBLOCK)
		return problem_errno(reterr, "cannot lock %s.lock", path);
	return knock(door);
}

/* What another writer left behind is stale: the lock is ours. */
static int
begin_listening(struct door *door, const char *path, struct problem *reterr)
{
	mode_t mask;
	int bound;

	door->address = address_in(door->folder, door->name);
	if (door->address.sun_path[0] == '\0')
		return problem_set(reterr, "%s is too long a name", path);
	if ((unlinkat(door->folder, door->name, 0) != 0 && errno != ENOENT) ||
	    (unlinkat(door->folder, door->hidden, 0) != 0 && errno != ENOENT))
		return problem_errno(reterr, "cannot remove %s.sock", path);
	door->socket =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (door->socket < 0)
		return problem_errno(reterr, "cannot make a socket");
	mask = umask(S_IRWXG | S_IRWXO | S_IXUSR);
	bound = bind(door->socket, (const struct sockaddr *)&door->address,
	    sizeof(door->address));
	(void)umask(mask);
	if (bound != 0)
		return problem_errno(reterr, "cannot make %s.sock", path);
	if (listen(door->socket, LIMIT_AUDIT_RUNS) != 0)
		return problem_errno(reterr, "cannot listen at %s.sock", path);
	return STATUS_OK;
}

int
door_open(const char *path, struct door **ret, struct problem *reterr)
{
	struct door *door = calloc(1, sizeof(*door));
	const char *name = NULL;
	int status;

	if (door == NULL)
		return problem_set(reterr, "no memory for a door");
	*door = (struct door){ .folder = -1, .lock = -1, .socket = -1 };
	status = open_folder(door, path, &name, reterr);
	if (status == STATUS_OK)
		status = take_lock(door, name, path, reterr);
	if (status == STATUS_OK)
		status = begin_listening(door, path, reterr);
	if (status != STATUS_OK) {
		door_close(door);
		return status;
	}
	*ret = door;
	return STATUS_OK;
}

void
door_close(struct door *door)
{
	if (door == NULL)
		return;
	/* Only who holds the lock and listens has a socket there. */
	if (door->socket >= 0) {
		(void)unlinkat(door->folder, door->name, 0);
		(void)unlinkat(door->folder, door->hidden, 0);
		(void)close(door->socket);
	}
	fd_done(&door->lock);
	fd_done(&door->folder);
	free(door);
}

int
door_hide(const struct door *door, bool hidden)
{
	const char *from = hidden ? door->name : door->hidden;
	const char *to = hidden ? door->hidden : door->name;

	if (renameat(door->folder, from, door->folder, to) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
door_socket(const struct door *door)
{
	return door->socket;
}

int
door_accept(const struct door *door, int *ret_fd)
{
	int fd = accept4(door->socket, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return errno == EAGAIN || errno == ECONNABORTED ? STATUS_AGAIN
								: STATUS_SYSTEM;
	if (!is_our_user(fd)) {
		(void)close(fd);
		return STATUS_REFUSED;
	}
	*ret_fd = fd;
	return STATUS_OK;
}
