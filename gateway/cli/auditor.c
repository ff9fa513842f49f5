#include "gateway/cli/auditor.h"

#include "gateway/cli/abspath.h"
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
#include <sys/stat.h>
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
	char folder[ABSPATH_MAX];
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

/*
 * What it tells while it works goes into a file beside the database: it may
 * outlive the run that started it, and whoever reads that run's stderr to its
 * end would wait for it.
 */
static int
open_log(const char *database, struct problem *reterr)
{
	char path[ABSPATH_MAX];
	int length = snprintf(path, sizeof(path), "%s.log", database);
	int fd = -1;

	if (length > 0 && (size_t)length < sizeof(path))
		fd = open(path,
		    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		    S_IRUSR | S_IWUSR);
	if (fd < 0)
		(void)problem_errno(reterr, "cannot write %s.log", database);
	return fd;
}

/* Runs it with the far end of its first words; gives ours. */
static int
run_writer(const char *database, const struct program *writer, int *ret_words,
    struct problem *reterr)
{
	const char *argv[] = { writer->path, database, NULL };
	struct spawn spawn = { .path = writer->path,
		.argv = argv,
		.envp = program_environment,
		.fds = { -1, -1, -1, -1 },
		.count = 4,
		.own_session = true };
	struct spawned spawned;
	int words[2], log = open_log(database, reterr), status;

	if (log < 0)
		return STATUS_PROBLEM;
	if (pipe2(words, O_CLOEXEC) != 0) {
		status = problem_errno(reterr, "cannot make a pipe");
		(void)close(log);
		return status;
	}
	spawn.fds[2] = log;
	spawn.fds[3] = words[1];
	status = spawn_start(&spawn, &spawned, reterr);
	(void)close(log);
	(void)close(words[1]);
	if (status != STATUS_OK) {
		(void)close(words[0]);
		return status;
	}
	spawned_done(&spawned);
	*ret_words = words[0];
	return STATUS_OK;
}

/* Starts one; STATUS_OK when it, or another one, listens. */
static int
start(const char *database, const struct program *writer, int64_t deadline_us,
    struct problem *reterr)
{
	char text[PROBLEM_TEXT_MAX] = "";
	int words = -1, status;

	status = run_writer(database, writer, &words, reterr);
	if (status != STATUS_OK)
		return status;
	status = hear(words, deadline_us, text, sizeof(text), reterr);
	(void)close(words);
	if (status != STATUS_OK)
		return status;
	if (strlen(text) == 1 &&
	    (text[0] == SAYS_READY || text[0] == SAYS_BUSY))
		return STATUS_OK;
	if (text[0] == '\0')
		return problem_set(reterr,
		    "the audit writer ended without a word; see %s.log",
		    database);
	return problem_set(reterr, "the audit writer cannot work: %s", text);
}

int
auditor_connect(const char *database, const struct program *writer, int *ret_fd,
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
		status = start(database, writer, deadline_us, reterr);
		if (status == STATUS_OK)
			status = connect_to(database, ret_fd, reterr);
	}
	return status;
}
