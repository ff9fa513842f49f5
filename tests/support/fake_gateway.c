/*
 * fake_gateway - the other end of exeat-launch, for tests.
 *
 * usage: fake_gateway [--result FILE] [--bundle FILE] [--silent] [--leave MS]
 *                     [--deny NUMBER:DENY_CALL] [--pid FILE] LAUNCHER PLAN
 *
 * Starts the launcher with the plan file, takes its offer and answers with
 * the bundle.  Whoever connects from the sandbox is told where it meant to
 * go ("198.51.100.7:443\n"), and so is who sends a datagram; a query to port
 * 53 is answered with its own bytes.  --silent never answers the
 * offer; --leave closes everything so many milliseconds after the answer;
 * --deny starts the launcher through deny_call; --pid keeps the launcher's
 * process id in a file.
 * Its exit code is the launcher's; 99 when it fails itself.
 */
#include "gateway/proc/fdpass.h"
#include "gateway/proc/spawn.h"
#include "gateway/proto/packet.h"
#include "schema/address.h"
#include "schema/cursor.h"
#include "schema/frame.h"
#include "schema/handoff.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BROKEN 99

struct fake {
	const char *result, *bundle, *launcher, *plan, *deny, *pid;
	bool silent;
	int leave_ms; /* -1: never */
	int channel, result_fd, reins;
	struct fdpass listeners;
	struct spawned launcher_process;
	int status;
};

static NORETURN void
die(const char *what)
{
	(void)fprintf(
	    stderr, "fake_gateway: %s: %s\n", what, strerrordesc_np(errno));
	exit(BROKEN);
}

static bool
read_options(struct fake *fake, int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-'; i++) {
		struct cursor number;
		uint64_t value;

		if (strcmp(argv[i], "--silent") == 0) {
			fake->silent = true;
			continue;
		}
		if (i + 1 >= argc)
			return false;
		if (strcmp(argv[i], "--result") == 0)
			fake->result = argv[++i];
		else if (strcmp(argv[i], "--bundle") == 0)
			fake->bundle = argv[++i];
		else if (strcmp(argv[i], "--deny") == 0)
			fake->deny = argv[++i];
		else if (strcmp(argv[i], "--pid") == 0)
			fake->pid = argv[++i];
		else if (strcmp(argv[i], "--leave") == 0) {
			number = cursor_of_text(argv[++i]);
			if (!cursor_decimal(&number, 100000, &value))
				return false;
			fake->leave_ms = (int)value;
		} else
			return false;
	}
	if (argc - i != 2)
		return false;
	fake->launcher = argv[i];
	fake->plan = argv[i + 1];
	return true;
}

/* "NUMBER:DENY_CALL" taken apart, in place of the launcher. */
static void
wrap(const struct fake *fake, struct spawn *spawn, const char **argv)
{
	static char number[16];
	const char *colon = strchr(fake->deny, ':');

	if (colon == NULL || snprintf(number, sizeof(number), "%.*s",
				 (int)(colon - fake->deny), fake->deny) < 0)
		die("no program to deny with");
	spawn->path = colon + 1;
	argv[0] = "deny_call";
	argv[1] = number;
	argv[2] = fake->launcher;
}

static void
keep_pid(const struct fake *fake)
{
	int fd =
	    open(fake->pid, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || dprintf(fd, "%d\n", fake->launcher_process.pid) < 0)
		die("cannot keep the process id");
	(void)close(fd);
}

static void
start_launcher(struct fake *fake)
{
	const char *argv[] = { "exeat-launch", NULL, NULL, NULL };
	const char *envp[] = { "LSAN_OPTIONS=detect_leaks=0", NULL };
	struct problem problem;
	unsigned char packet[8];
	struct cursor_writer go =
	    frame_begin(FRAME_REINS_GO, packet, sizeof(packet));
	int pair[2], reins[2], plan = open(fake->plan, O_RDONLY | O_CLOEXEC);
	struct spawn spawn = { .path = fake->launcher,
		.argv = argv,
		.envp = envp,
		.fds = { 0, 1, 2 },
		.count = 7,
		.dies_with_parent = true };

	fake->result_fd = memfd_create("result", MFD_CLOEXEC);
	if (plan < 0 || fake->result_fd < 0 || fdpass_pair(pair) != STATUS_OK ||
	    fdpass_pair(reins) != STATUS_OK ||
	    fdpass_send(reins[0], packet, go.used, NULL, 0) != STATUS_OK)
		die("cannot prepare");
	if (fake->deny != NULL)
		wrap(fake, &spawn, argv);
	spawn.fds[3] = plan;
	spawn.fds[4] = pair[1];
	spawn.fds[5] = fake->result_fd;
	spawn.fds[6] = reins[1];
	if (spawn_start(&spawn, &fake->launcher_process, &problem) != STATUS_OK)
		die(problem.text);
	if (fake->pid != NULL)
		keep_pid(fake);
	(void)close(pair[1]);
	(void)close(reins[1]);
	(void)close(plan);
	fake->reins = reins[0];
	fake->channel = pair[0];
}

static void
answer_offer(struct fake *fake)
{
	unsigned char packet[64];
	struct cursor_writer out =
	    frame_begin(FRAME_HANDOFF_TRUST, packet, sizeof(packet));
	int bundle = memfd_create("trust", MFD_CLOEXEC), status;
	int trust[HANDOFF_TRUST_COUNT];

	if (bundle < 0)
		die("memfd");
	if (fake->bundle == NULL) {
		static const char text[] = "# a bundle of nothing\n";

		if (write(bundle, text, sizeof(text) - 1) < 0)
			die("bundle");
	} else {
		(void)close(bundle);
		bundle = open(fake->bundle, O_RDONLY | O_CLOEXEC);
		if (bundle < 0)
			die(fake->bundle);
	}
	trust[HANDOFF_BUNDLE] = bundle;
	trust[HANDOFF_KEYSTORE] = bundle;
	status = fdpass_send(
	    fake->channel, packet, out.used, trust, HANDOFF_TRUST_COUNT);
	/* A launcher that failed meanwhile has told why. */
	if (status != STATUS_OK && status != STATUS_CLOSED)
		die("trust");
	(void)close(bundle);
}

/* False at the end of the channel. */
static bool
hear_launcher(struct fake *fake)
{
	unsigned char packet[256];
	struct handoff_offer offer;
	struct frame frame;
	size_t length;

	if (fdpass_receive(fake->channel, packet, sizeof(packet), &length,
		&fake->listeners) != STATUS_OK)
		return false;
	if (frame_parse(packet, length, &frame) != STATUS_OK ||
	    frame.type != FRAME_HANDOFF_OFFER ||
	    fake->listeners.count != HANDOFF_FD_COUNT ||
	    handoff_offer_read(frame.body, &offer) != STATUS_OK)
		die("the offer does not read");
	if (!fake->silent)
		answer_offer(fake);
	return true;
}

static void
print_local(const struct sockaddr_storage *at, char out[ENDPOINT_TEXT_MAX])
{
	struct endpoint endpoint = { 0 };

	if (endpoint_from_sockaddr((const struct sockaddr *)at, &endpoint) !=
	    STATUS_OK)
		die("no endpoint");
	endpoint_print(&endpoint, out);
}

static void
serve_connection(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);
	char text[ENDPOINT_TEXT_MAX];

	if (fd < 0)
		return;
	if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
		die("getsockname");
	print_local(&at, text);
	(void)dprintf(fd, "%s\n", text);
	(void)close(fd);
}

/* The control message that says where the query was sent is sent back as
 * what the answer comes from. */
static void
serve_query(int socket)
{
	char bytes[512], control[256];
	struct sockaddr_storage peer;
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	ssize_t length = recvmsg(socket, &message, 0);
	struct cmsghdr *h;

	if (length < 0)
		return;
	part.iov_len = (size_t)length;
	h = CMSG_FIRSTHDR(&message);
	if (h != NULL && h->cmsg_level == IPPROTO_IP &&
	    h->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(h), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(h), &info, sizeof(info));
		message.msg_controllen = CMSG_SPACE(sizeof(info));
	} else if (h != NULL)
		message.msg_controllen = CMSG_SPACE(sizeof(struct in6_pktinfo));
	if (sendmsg(socket, &message, 0) < 0)
		die("cannot answer a query");
}

/* Tells who sent a datagram where it meant to go, as if from there. */
static void
serve_datagram(int socket, int raw)
{
	char bytes[512], control[256], text[ENDPOINT_TEXT_MAX];
	unsigned char packet[PACKET_HEAD + ENDPOINT_TEXT_MAX];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));
	struct sockaddr_storage peer, at = { 0 };
	struct iovec part = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct endpoint from, to, host;
	struct cmsghdr *h;

	if (recvmsg(socket, &message, 0) < 0)
		return;
	h = CMSG_FIRSTHDR(&message);
	if (h == NULL || h->cmsg_len > CMSG_LEN(sizeof(at)))
		die("a datagram that does not say where it meant to go");
	memcpy(&at, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
	if (endpoint_from_sockaddr((struct sockaddr *)&peer, &from) != 0 ||
	    endpoint_from_sockaddr((struct sockaddr *)&at, &to) != 0)
		die("a datagram without ends");
	endpoint_print(&to, text);
	if (packet_write_head(&to, &from, cursor_of_text(text), &out) != 0)
		die("no packet");
	cursor_put_text(&out, text);
	host = (struct endpoint){ .address = from.address };
	if (sendto(raw, out.bytes, out.used, 0, (struct sockaddr *)&at,
		endpoint_to_sockaddr(&host, &at)) < 0)
		die("cannot send a packet");
}

static void
close_all(struct fake *fake)
{
	fdpass_done(&fake->listeners);
	(void)close(fake->channel);
	fake->channel = -1;
}

static void
serve_one(const struct fake *fake, size_t which)
{
	const int *fds = fake->listeners.fds;

	switch ((enum handoff_fd)which) {
	case HANDOFF_TCP4:
	case HANDOFF_TCP6:
		serve_connection(fds[which]);
		break;
	case HANDOFF_UDP4:
	case HANDOFF_UDP6:
		serve_query(fds[which]);
		break;
	case HANDOFF_ANY4:
	case HANDOFF_ANY6:
		serve_datagram(
		    fds[which], fds[which - HANDOFF_ANY4 + HANDOFF_RAW4]);
		break;
	case HANDOFF_DIAG:
	case HANDOFF_RAW4:
	case HANDOFF_RAW6:
	case HANDOFF_FD_COUNT:
		break;
	}
}

/* Those that are only written to are never waited for. */
static bool
is_served(const struct fake *fake, size_t which)
{
	return fake->listeners.count > which && which != HANDOFF_DIAG &&
	       which < HANDOFF_RAW4;
}

static void
serve(struct fake *fake)
{
	for (;;) {
		struct pollfd wait[2 + HANDOFF_FD_COUNT] = { { fake->channel,
								 POLLIN, 0 },
			{ fake->launcher_process.pidfd, POLLIN, 0 } };
		int ready;

		for (size_t i = 0; i < HANDOFF_FD_COUNT; i++)
			wait[2 + i] =
			    (struct pollfd){ is_served(fake, i)
						 ? fake->listeners.fds[i]
						 : -1,
				    POLLIN, 0 };
		ready = poll(wait, 2 + HANDOFF_FD_COUNT,
		    fake->listeners.count > 0 ? fake->leave_ms : -1);
		if (ready == 0)
			close_all(fake);
		if (ready <= 0)
			continue;
		if (wait[1].revents != 0 &&
		    spawn_reap(&fake->launcher_process, &fake->status))
			return;
		if (wait[0].revents != 0 && !hear_launcher(fake))
			close_all(fake);
		for (size_t i = 0; i < HANDOFF_FD_COUNT; i++)
			if (wait[2 + i].revents != 0)
				serve_one(fake, i);
	}
}

static void
keep_result(const struct fake *fake)
{
	static char bytes[1 << 20];
	ssize_t length = pread(fake->result_fd, bytes, sizeof(bytes), 0);
	int out =
	    open(fake->result, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (length < 0 || out < 0 ||
	    write(out, bytes, (size_t)length) != length)
		die("cannot keep the result");
	(void)close(out);
}

int
main(int argc, char **argv)
{
	struct fake fake = { .leave_ms = -1 };

	if (!read_options(&fake, argc, argv)) {
		(void)fprintf(stderr, "usage: see the source\n");
		return BROKEN;
	}
	start_launcher(&fake);
	serve(&fake);
	if (fake.result != NULL)
		keep_result(&fake);
	return WIFEXITED(fake.status) ? WEXITSTATUS(fake.status)
				      : 128 + WTERMSIG(fake.status);
}
