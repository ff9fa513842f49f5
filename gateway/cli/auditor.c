#include "gateway/cli/auditor.h"

#include "gateway/cli/place.h"
#include "gateway/cli/program.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/spawn.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define US_A_MS 1000

/* What a writer says on its first breath, before any text of a problem. */
enum {
	SAYS_READY = 'R',
	SAYS_BUSY = 'B'
};

/*
 * The address goes through the folder's descriptor, because a path to it may
 * be longer than an address holds.
 */
static int
address_of(const char *database, int folder, struct sockaddr_un *ret,
    struct problem *reterr)
{
	const char *name = strrchr(database, '/');
	int length = snprintf(ret->sun_path, sizeof(ret->sun_path),
	    "/proc/self/fd/%d/%s.sock", folder, name == NULL ? "" : name + 1);

	if (length < 0 || (size_t)length >= sizeof(ret->sun_path))
		return problem_set(reterr,
		    "the name of the audit database %s is too long", database);
	ret->sun_family = AF_UNIX;
	return STATUS_OK;
}

static int
open_folder(const char *database, struct problem *reterr)
{
	char folder[PLACE_PATH_MAX];
	const char *slash = strrchr(database, '/');
	int length = slash == NULL ? 0 : (int)(slash - database) + 1;
	int wrote = snprintf(folder, sizeof(folder), "%.*s", length, database);
	int fd = -1;

	if (wrote > 0 && (size_t)wrote < sizeof(folder))
		fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		(void)problem_errno(
		    reterr, "cannot open the folder of %s", database);
	return fd;
}

/* A socket of somebody else's would see what this run does. */
static bool
is_ours(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
	       peer.uid == geteuid();
}

/* STATUS_NOT_FOUND when nobody listens. */
static int
connect_to(const char *database, int *ret_fd, struct problem *reterr)
{
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	int folder = open_folder(database, reterr), fd = -1, status;

	if (folder < 0)
		return STATUS_PROBLEM;
	status = address_of(database, folder, &address, reterr);
	if (status != STATUS_OK)
		goto done;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		status = problem_errno(reterr, "cannot make a socket");
		goto done;
	}
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) !=
	    0) {
		status =
		    errno == ENOENT || errno == ECONNREFUSED
			? STATUS_NOT_FOUND
			: problem_errno(reterr,
			      "cannot reach the audit writer of %s", database);
		goto done;
	}
	if (!is_ours(fd)) {
		status = problem_set(reterr,
		    "the audit writer of %s is another account's", database);
		goto done;
	}
	*ret_fd = steal_fd(&fd);
done:
	if (fd >= 0)
		(void)close(fd);
	(void)close(folder);
	return status;
}

/* Reads until the writer closes, is ready, or the deadline passes. */
static int
hear(int fd, int64_t deadline_us, char *text, size_t size,
    struct problem *reterr)
{
	size_t used = 0;

	while (used < size - 1) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		int64_t left = (deadline_us - clock_monotonic_us()) / US_A_MS;
		int ready = poll(&wait, 1, left > 0 ? (int)left : 0);
		ssize_t got;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return problem_set(
			    reterr, "the audit writer does not start");
		got = read(fd, text + used, size - 1 - used);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
		if (text[0] == SAYS_READY && used == 1)
			break;
	}
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return STATUS_OK;
}

/* Starts one; STATUS_OK when it, or another one, listens. */
static int
start(const char *database, const struct program *writer,
    const struct program_environment *environment, int64_t deadline_us,
    struct problem *reterr)
{
	const char *argv[] = { writer->path, database, NULL };
	struct spawn spawn = { .path = writer->path,
		.argv = argv,
		.envp = environment->list,
		.count = 4,
		.own_session = true };
	char text[PROBLEM_TEXT_MAX] = "";
	struct spawned spawned;
	int pipe[2], null, status;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || pipe2(pipe, O_CLOEXEC) != 0) {
		status = problem_errno(reterr, "cannot start the audit writer");
		if (null >= 0)
			(void)close(null);
		return status;
	}
	spawn.fds[0] = spawn.fds[1] = null;
	spawn.fds[2] = STDERR_FILENO;
	spawn.fds[3] = pipe[1];
	status = spawn_start(&spawn, &spawned, reterr);
	(void)close(null);
	(void)close(pipe[1]);
	if (status == STATUS_OK) {
		status = hear(pipe[0], deadline_us, text, sizeof(text), reterr);
		spawned_done(&spawned);
	}
	(void)close(pipe[0]);
	if (status != STATUS_OK)
		return status;
	if (strlen(text) == 1 &&
	    (text[0] == SAYS_READY || text[0] == SAYS_BUSY))
		return STATUS_OK;
	if (text[0] == '\0')
		return problem_set(reterr,
		    "the audit writer ended without a word; its log says why");
	return problem_set(reterr, "the audit writer cannot work: %s", text);
}

int
auditor_connect(const char *database, const struct program *writer,
    const struct program_environment *environment, int *ret_fd,
    struct problem *reterr)
{
	int64_t deadline_us =
	    clock_monotonic_us() + (int64_t)LIMIT_SIBLING_MS * US_A_MS;
	int status = connect_to(database, ret_fd, reterr);

	/*
	 * A writer that was just leaving holds the lock and listens no more:
	 * then the next try finds the lock free.
	 */
	while (status == STATUS_NOT_FOUND) {
		if (clock_monotonic_us() > deadline_us)
			return problem_set(reterr,
			    "the audit writer of %s holds its lock and does "
			    "not listen",
			    database);
		status =
		    start(database, writer, environment, deadline_us, reterr);
		if (status == STATUS_OK)
			status = connect_to(database, ret_fd, reterr);
	}
	return status;
}
