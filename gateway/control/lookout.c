#include "gateway/control/lookout.h"

#include "gateway/net/sockdiag.h"
#include "gateway/proc/confine.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/log.h"
#include "gateway/proc/procfs.h"
#include "schema/argv.h"
#include "schema/frame.h"
#include "schema/limits.h"
#include "schema/sighting.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FD_CHANNEL = 3, /* in the child */
	HINTS = 16,
	READ_BYTES = 65536
};

/* A process that held a connection lately, and under which number. */
struct hint {
	pid_t pid;
	int fd;
};

/* A program's file as it was when it was hashed. */
struct hashed {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	off_t size;
	uint8_t digest[SIGHTING_DIGEST];
};

struct lookout {
	int channel, proc;
	pid_t root;
	struct sockdiag diag;
	struct hint hints[HINTS]; /* the latest first */
	size_t hint_count;
	struct hashed hashed[LIMIT_EXE_DIGESTS];
	size_t hashed_count, hashed_next;
	pid_t family[LIMIT_PROCESSES];
};

/* ---- which process ---- */

static void
remember(struct lookout *lookout, struct hint hint)
{
	size_t i = 0;

	while (i < lookout->hint_count && lookout->hints[i].pid != hint.pid)
		i++;
	if (i == lookout->hint_count && i < HINTS)
		lookout->hint_count++;
	if (i == HINTS)
		i--;
	memmove(&lookout->hints[1], &lookout->hints[0],
	    i * sizeof(lookout->hints[0]));
	lookout->hints[0] = hint;
}

static bool
is_held_by(const struct lookout *lookout, uint32_t inode, struct hint *hint)
{
	return procfs_holds_socket(lookout->proc, hint->pid, inode, &hint->fd);
}

static pid_t
find_holder(struct lookout *lookout, uint32_t inode)
{
	size_t count;

	for (size_t i = 0; i < lookout->hint_count; i++) {
		struct hint hint = lookout->hints[i];

		if (is_held_by(lookout, inode, &hint)) {
			remember(lookout, hint);
			return hint.pid;
		}
	}
	count = procfs_below(
	    lookout->proc, lookout->root, lookout->family, LIMIT_PROCESSES);
	/* Who connects now has most likely begun lately. */
	while (count-- > 0) {
		struct hint hint = { .pid = lookout->family[count], .fd = -1 };

		if (is_held_by(lookout, inode, &hint)) {
			remember(lookout, hint);
			return hint.pid;
		}
	}
	return 0;
}

/* ---- which program ---- */

static const struct hashed *
find_hashed(const struct lookout *lookout, const struct stat *st)
{
	for (size_t i = 0; i < lookout->hashed_count; i++) {
		const struct hashed *one = &lookout->hashed[i];

		if (one->device == st->st_dev && one->inode == st->st_ino &&
		    one->size == st->st_size &&
		    one->changed.tv_sec == st->st_mtim.tv_sec &&
		    one->changed.tv_nsec == st->st_mtim.tv_nsec)
			return one;
	}
	return NULL;
}

static bool
hash_file(int fd, uint8_t ret[SIGHTING_DIGEST])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char bytes[READ_BYTES];
	ssize_t got = 0;
	bool fine = context != NULL &&
		    EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	while (fine && (got = read(fd, bytes, sizeof(bytes))) > 0)
		fine = EVP_DigestUpdate(context, bytes, (size_t)got) == 1;
	fine = fine && got == 0 && EVP_DigestFinal_ex(context, ret, NULL) == 1;
	EVP_MD_CTX_free(context);
	return fine;
}

static void
add_digest(struct lookout *lookout, int fd, struct sighting *ret)
{
	struct hashed fresh;
	const struct hashed *known;
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > LIMIT_EXE_BYTES)
		return;
	known = find_hashed(lookout, &st);
	if (known == NULL) {
		fresh = (struct hashed){ .device = st.st_dev,
			.inode = st.st_ino,
			.changed = st.st_mtim,
			.size = st.st_size };
		if (!hash_file(fd, fresh.digest))
			return;
		lookout->hashed[lookout->hashed_next] = fresh;
		known = &lookout->hashed[lookout->hashed_next];
		lookout->hashed_next =
		    (lookout->hashed_next + 1) % LIMIT_EXE_DIGESTS;
		if (lookout->hashed_count < LIMIT_EXE_DIGESTS)
			lookout->hashed_count++;
	}
	memcpy(ret->digest, known->digest, sizeof(ret->digest));
	ret->has_digest = true;
}

static void
describe(struct lookout *lookout, pid_t pid, bool digest, struct sighting *ret)
{
	char words[LIMIT_CMDLINE];
	struct cursor_writer argv =
	    cursor_writer_of(ret->argv, sizeof(ret->argv) - 1);
	int fd;

	ret->pid = (uint32_t)pid;
	if (!procfs_exe(lookout->proc, pid, ret->exe, sizeof(ret->exe)))
		ret->exe[0] = '\0';
	argv_redact(cursor_of(words, procfs_cmdline(lookout->proc, pid, words,
					 sizeof(words))),
	    &argv);
	ret->argv[argv.used] = '\0';
	if (!digest)
		return;
	fd = procfs_open_exe(lookout->proc, pid);
	if (fd < 0)
		return;
	add_digest(lookout, fd, ret);
	(void)close(fd);
}

/* ---- questions ---- */

static int
answer(struct lookout *lookout, struct cursor body)
{
	unsigned char packet[sizeof(struct sighting) + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_SIGHTING_FOUND, packet, sizeof(packet));
	struct sighting_question question;
	struct sockdiag_socket socket;
	struct sighting sighting = { .pid = 0 };
	enum sockdiag_transport transport = SOCKDIAG_TCP;
	pid_t pid = 0;

	if (lookout->diag.fd < 0 ||
	    sighting_question_read(body, &question) != STATUS_OK)
		return STATUS_MALFORMED;
	if (question.transport == SIGHTING_UDP)
		transport = SOCKDIAG_UDP;
	sighting.number = question.number;
	if (sockdiag_find(&lookout->diag, transport, &question.from,
		&question.to, &socket) == STATUS_OK &&
	    socket.inode != 0)
		pid = find_holder(lookout, socket.inode);
	if (pid > 0)
		describe(lookout, pid, question.digest, &sighting);
	sighting_write(&sighting, &out);
	return fdpass_send(lookout->channel, packet, out.used, NULL, 0);
}

static int
take_place(struct lookout *lookout, struct cursor body, struct fdpass *fds)
{
	if (!cursor_is_empty(&body) || fds->count != 1 || lookout->diag.fd >= 0)
		return STATUS_MALFORMED;
	lookout->diag.fd = fdpass_take(fds, 0);
	return STATUS_OK;
}

static int
serve_one(struct lookout *lookout)
{
	unsigned char packet[512];
	struct frame frame;
	struct fdpass fds;
	size_t length;
	int status = fdpass_receive(
	    lookout->channel, packet, sizeof(packet), &length, &fds);

	if (status != STATUS_OK)
		return status;
	status = frame_parse(packet, length, &frame);
	if (status == STATUS_OK && frame.type == FRAME_SIGHTING_PLACE)
		status = take_place(lookout, frame.body, &fds);
	else if (status == STATUS_OK && frame.type == FRAME_SIGHTING_ASK &&
		 fds.count == 0)
		status = answer(lookout, frame.body);
	else
		status = STATUS_MALFORMED;
	fdpass_done(&fds);
	return status;
}

void
lookout_serve(int channel, pid_t root)
{
	struct lookout lookout = { .channel = channel,
		.proc = procfs_open(),
		.root = root,
		.diag = { .fd = -1 } };
	struct problem problem;

	if (lookout.proc < 0)
		return;
	if (confine_enter(CONFINE_LOOKOUT, -1, &problem) != STATUS_OK) {
		log_warning("%s", problem.text);
		return;
	}
	while (serve_one(&lookout) == STATUS_OK)
		;
	if (lookout.diag.fd >= 0)
		(void)close(lookout.diag.fd);
	(void)close(lookout.proc);
}

/* Everything but its channel and what it may say on stderr is closed. */
static bool
settle(int channel, pid_t gateway)
{
	if (prctl(PR_SET_NAME, "exeat-lookout") != 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != gateway)
		return false;
	if (dup3(channel, FD_CHANNEL, O_CLOEXEC) < 0 && channel != FD_CHANNEL)
		return false;
	return close_range(FD_CHANNEL + 1, ~0U, 0) == 0;
}

int
lookout_start(int *ret_fd)
{
	pid_t gateway = getpid(), root = getppid(), child;
	int pair[2];

	if (fdpass_pair(pair) != STATUS_OK)
		return STATUS_SYSTEM;
	child = fork();
	if (child < 0) {
		int saved = errno;

		(void)close(pair[0]);
		(void)close(pair[1]);
		errno = saved;
		return STATUS_SYSTEM;
	}
	if (child == 0) {
		if (settle(pair[1], gateway))
			lookout_serve(FD_CHANNEL, root);
		_exit(0);
	}
	(void)close(pair[1]);
	*ret_fd = pair[0];
	return STATUS_OK;
}
