/*
 * origin - what a passthrough benchmark talks to: no TLS, only bytes.
 *
 *	origin ADDRESS PORT_SHORT PORT_ENDLESS
 *
 * Answers the first bytes of a connection: on PORT_SHORT with 1 KiB, then it
 * closes; on PORT_ENDLESS with as many bytes as the client takes; and on
 * PORT_SHORT + 1 with 1 KiB, then it stays.  So the relay's own work is
 * measured and not an origin's handshake.  Prints "ready" when it listens.
 */
#include "schema/attr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 1024
#define ENDLESS_BYTES 262144
#define FILES_MAX 65536

enum kind {
	KIND_NONE,
	KIND_LISTENER,
	KIND_CLIENT,
};

enum manner {
	MANNER_CLOSE,
	MANNER_STAY,
	MANNER_ENDLESS,
};

/* By descriptor. */
static struct file {
	enum kind kind;
	enum manner manner;
	bool answering;
} files[FILES_MAX];

static char bytes[ENDLESS_BYTES];

static NORETURN void
die(const char *what)
{
	(void)fprintf(stderr, "origin: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
watch(int poll, int fd, int what, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	if (epoll_ctl(poll, what, fd, &event) != 0)
		die("epoll_ctl");
}

static void
add(int poll, int fd, enum kind kind, enum manner manner)
{
	if (fd >= FILES_MAX)
		die("too many connections");
	files[fd] = (struct file){ .kind = kind, .manner = manner };
	watch(poll, fd, EPOLL_CTL_ADD, EPOLLIN);
}

static void
listen_on(int poll, const char *address, unsigned long port, enum manner manner)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port) };
	int on = 1,
	    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, address, &at.sin_addr) != 1)
		die(address);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 4096) != 0)
		die("cannot listen");
	add(poll, fd, KIND_LISTENER, manner);
}

static void
drop(int fd)
{
	files[fd].kind = KIND_NONE;
	(void)close(fd);
}

static void
pour(int fd)
{
	ssize_t sent;

	/* A few at a time: other connections want a turn. */
	for (int i = 0; i < 4; i++) {
		sent = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0) {
			drop(fd);
			return;
		}
	}
}

static void
on_client(int poll, int fd, uint32_t events)
{
	struct file *file = &files[fd];
	char hello[16384];
	ssize_t got;

	if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
		drop(fd);
		return;
	}
	if (file->answering && file->manner == MANNER_ENDLESS) {
		pour(fd);
		return;
	}
	got = recv(fd, hello, sizeof(hello), 0);
	if (got <= 0) {
		drop(fd);
		return;
	}
	file->answering = true;
	if (file->manner == MANNER_ENDLESS)
		watch(poll, fd, EPOLL_CTL_MOD, EPOLLOUT);
	else if (send(fd, bytes, ANSWER_BYTES, MSG_NOSIGNAL) != ANSWER_BYTES ||
		 file->manner == MANNER_CLOSE)
		drop(fd);
}

static void
on_listener(int poll, int fd)
{
	for (int i = 0; i < 64; i++) {
		int client =
		    accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (client < 0)
			return;
		add(poll, client, KIND_CLIENT, files[fd].manner);
	}
}

int
main(int argc, char **argv)
{
	struct epoll_event events[256];
	struct rlimit limit;
	int poll = epoll_create1(EPOLL_CLOEXEC);
	unsigned long port;

	if (argc != 4 || poll < 0)
		die("usage: origin ADDRESS PORT_SHORT PORT_ENDLESS");
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
	port = strtoul(argv[2], NULL, 10);
	listen_on(poll, argv[1], port, MANNER_CLOSE);
	listen_on(poll, argv[1], port + 1, MANNER_STAY);
	listen_on(poll, argv[1], strtoul(argv[3], NULL, 10), MANNER_ENDLESS);
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;) {
		int count = epoll_wait(poll, events, 256, -1);

		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;

			if (files[fd].kind == KIND_LISTENER)
				on_listener(poll, fd);
			else if (files[fd].kind == KIND_CLIENT)
				on_client(poll, fd, events[i].events);
		}
	}
}
