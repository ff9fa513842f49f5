#include "tests/gateway/audit/parent.h"

#include "gateway/proc/fdpass.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void
parent_begin(struct parent *parent)
{
	*parent = (struct parent){ .writer = { .pid = -1, .pidfd = -1 } };
	(void)snprintf(parent->folder, sizeof(parent->folder),
	    "/tmp/exeat-test-audit-XXXXXX");
	assert_non_null(mkdtemp(parent->folder));
	(void)snprintf(parent->database, sizeof(parent->database),
	    "%s/audit.db", parent->folder);
}

static void
remove_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	assert_non_null(dir);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((entry = readdir(dir)) != NULL)
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	(void)closedir(dir);
	(void)rmdir(folder);
}

void
parent_end(struct parent *parent)
{
	int status;

	if (parent->writer.pid > 0) {
		(void)spawn_kill(&parent->writer, SIGKILL);
		(void)spawn_wait(&parent->writer, PARENT_WAIT_MS, &status);
		spawned_done(&parent->writer);
	}
	remove_files(parent->folder);
}

static bool
is_readable(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, PARENT_WAIT_MS) == 1;
}

void
parent_start(struct parent *parent, struct spawned *ret, char text[512])
{
	static const char path[] = BUILD_DIR "/exeat-audit";
	const char *argv[] = { path, parent->database, NULL, NULL, NULL };
	struct spawn spawn = { .path = path,
		.argv = argv,
		.envp = parent->environment,
		.count = 4,
		.own_session = true };
	struct problem problem;
	size_t used = 0;
	int said[2], null;
	ssize_t got;

	if (parent->segment_rows != NULL) {
		argv[1] = "--segment-rows";
		argv[2] = parent->segment_rows;
		argv[3] = parent->database;
	}
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	spawn.fds[0] = null;
	spawn.fds[1] = null;
	spawn.fds[2] = STDERR_FILENO;
	spawn.fds[3] = said[1];
	assert_int_equal(spawn_start(&spawn, ret, &problem), STATUS_OK);
	(void)close(said[1]);
	(void)close(null);
	do {
		assert_true(is_readable(said[0]));
		got = read(said[0], text + used, 511 - used);
		assert_true(got >= 0);
		used += (size_t)got;
	} while (got > 0 && used < 511);
	text[used] = '\0';
	(void)close(said[0]);
}

void
parent_start_writer(struct parent *parent)
{
	char text[512];

	parent_start(parent, &parent->writer, text);
	assert_string_equal(text, "R");
}

int
parent_await_writer(struct parent *parent)
{
	int status;

	assert_true(spawn_wait(&parent->writer, PARENT_WAIT_MS, &status));
	spawned_done(&parent->writer);
	return status;
}

int
parent_connect(const struct parent *parent)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int folder = open(parent->folder, O_PATH | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const char *name = strrchr(parent->database, '/') + 1;

	assert_true(folder >= 0 && fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
	    "/proc/self/fd/%d/%s.sock", folder, name);
	assert_int_equal(
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(folder);
	return fd;
}

static void
send_frame(int fd, const struct cursor_writer *out, const int *fds)
{
	assert_true(cursor_written(out));
	assert_int_equal(
	    fdpass_send(fd, out->bytes, out->used, fds, fds == NULL ? 0 : 1),
	    STATUS_OK);
}

void
parent_send_run(int fd, const char *uid)
{
	parent_send_run_synced(fd, uid, EVENT_SYNC_AUTO);
}

void
parent_send_run_synced(int fd, const char *uid, enum event_sync sync)
{
	static const char detail[] = "{\"command\":[\"npm\",\"test\"]}";
	unsigned char packet[8192];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_RUN, packet, sizeof(packet));
	struct event_run run = { .principal = "tester",
		.owner = "tester",
		.host = "here",
		.image = "npm",
		.sync = sync,
		.detail = cursor_of_text(detail) };

	(void)snprintf(run.uid, sizeof(run.uid), "%s", uid);
	event_run_write(&run, &out);
	send_frame(fd, &out, NULL);
}

void
parent_open_run(int fd, const char *uid)
{
	parent_send_run(fd, uid);
	parent_await_open(fd);
}

void
parent_await_open(int fd)
{
	struct frame frame;
	bool available;

	frame = parent_receive(fd);
	assert_int_equal(frame.type, FRAME_AUDIT_STATE);
	assert_int_equal(event_state_read(frame.body, &available), STATUS_OK);
	assert_true(available);
}

int
parent_add_producer(int fd, enum event_role role)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_PRODUCER, packet, sizeof(packet));
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	event_producer_write(role, &out);
	send_frame(fd, &out, &pair[1]);
	(void)close(pair[1]);
	return pair[0];
}

void
parent_send_policy(int fd, const char *body, bool honest)
{
	unsigned char packet[8192], digest[EVP_MAX_MD_SIZE];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_POLICY, packet, sizeof(packet));
	struct event_policy policy = { .loaded_by = "tester",
		.name = "p.json" };
	int memfd = memfd_create("policy", MFD_CLOEXEC);
	unsigned length;

	assert_true(memfd >= 0);
	assert_int_equal(
	    write(memfd, body, strlen(body)), (ssize_t)strlen(body));
	assert_int_equal(
	    EVP_Digest(body, strlen(body), digest, &length, EVP_sha256(), NULL),
	    1);
	memcpy(policy.sha256, digest, sizeof(policy.sha256));
	if (!honest)
		policy.sha256[0] ^= 1;
	event_policy_write(&policy, &out);
	send_frame(fd, &out, &memfd);
	(void)close(memfd);
}

void
parent_send_end(int fd, int status)
{
	unsigned char packet[8192];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_END, packet, sizeof(packet));
	struct event_end end = { .status = status, .end = "exited" };

	event_end_write(&end, &out);
	send_frame(fd, &out, NULL);
}

struct frame
parent_receive(int fd)
{
	static unsigned char packet[LIMIT_FRAME];
	struct frame frame = { .type = 0 };
	struct fdpass fds = { .count = 0 };
	size_t length;

	assert_true(is_readable(fd));
	assert_int_equal(
	    fdpass_receive(fd, packet, sizeof(packet), &length, &fds),
	    STATUS_OK);
	assert_int_equal(frame_parse(packet, length, &frame), STATUS_OK);
	fdpass_done(&fds);
	return frame;
}

struct event_closed
parent_await_closed(int fd)
{
	struct event_closed closed = { 0 };
	struct frame frame;

	do
		frame = parent_receive(fd);
	while (frame.type != FRAME_AUDIT_CLOSED);
	assert_int_equal(event_closed_read(frame.body, &closed), STATUS_OK);
	return closed;
}

bool
parent_is_closed(int fd)
{
	char byte;
	ssize_t got;

	assert_true(is_readable(fd));
	got = recv(fd, &byte, sizeof(byte), 0);
	return got == 0 || (got < 0 && errno == ECONNRESET);
}

struct event
parent_event(uint64_t number, enum event_wait wait)
{
	struct event event = event_empty();

	event.number = number;
	event.wait = wait;
	event.kind = EVENT_HTTP_INTENT;
	event.verdict = EVENT_ALLOW;
	event.ts_us = 1700000000000000 + (int64_t)number;
	event.flow_id = 1;
	event.host = cursor_of_text("registry.pkgs.test");
	event.dst_port = 443;
	event.l7 = EVENT_L7_HTTP1;
	event.tls = 0x0304;
	event.verb = cursor_of_text("GET");
	event.object = cursor_of_text("/left-pad");
	return event;
}

void
parent_send_event(int fd, const struct event *event)
{
	unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_EVENTS, packet, sizeof(packet));

	event_write(event, &out);
	send_frame(fd, &out, NULL);
}

int64_t
parent_await_accepted(int fd, uint64_t number)
{
	struct event_accepted accepted = { 0 };
	uint64_t which;
	int64_t seq, found = 0;

	while (accepted.number < number) {
		struct frame frame = parent_receive(fd);

		if (frame.type == FRAME_AUDIT_STATE)
			continue;
		assert_int_equal(frame.type, FRAME_AUDIT_ACCEPTED);
		assert_int_equal(
		    event_accepted_read(frame.body, &accepted), STATUS_OK);
		while (event_accepted_next(&accepted, &which, &seq))
			if (which == number)
				found = seq;
	}
	return found;
}

struct sqlite3 *
parent_read(const struct parent *parent)
{
	sqlite3 *db;

	assert_int_equal(
	    sqlite3_open_v2(parent->database, &db, SQLITE_OPEN_READONLY, NULL),
	    SQLITE_OK);
	assert_int_equal(
	    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL),
	    SQLITE_OK);
	(void)sqlite3_busy_timeout(db, PARENT_WAIT_MS);
	return db;
}

static sqlite3_stmt *
first_row(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	if (sqlite3_step(statement) != SQLITE_ROW)
		fail_msg("%s: no row", sql);
	return statement;
}

long long
parent_number(const struct parent *parent, const char *sql)
{
	sqlite3 *db = parent_read(parent);
	sqlite3_stmt *statement = first_row(db, sql);
	long long number = sqlite3_column_int64(statement, 0);

	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
	return number;
}

void
parent_text(
    const struct parent *parent, const char *sql, char *out, size_t size)
{
	sqlite3 *db = parent_read(parent);
	sqlite3_stmt *statement = first_row(db, sql);
	const unsigned char *text = sqlite3_column_text(statement, 0);

	(void)snprintf(
	    out, size, "%s", text == NULL ? "NULL" : (const char *)text);
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
}
