/*
 * load - the clients of a benchmark: one thread that keeps connections busy.
 *
 * Orders come on standard input, one a line, and each is answered by one line
 * of JSON on standard output, so that one loader serves all samples:
 *
 *	hello ADDRESS PORT NAME CONNECTIONS MS	ClientHello, 1 KiB back, close
 *	bulk  ADDRESS PORT NAME CONNECTIONS MS	ClientHello, then what comes
 *	keep  ADDRESS PORT NAME CONNECTIONS MS	GET again and again on those
 *						that stayed, or on new ones
 *	new   ADDRESS PORT NAME CONNECTIONS MS	TLS, one GET, close
 *	open  ADDRESS PORT NAME CONNECTIONS MS	ClientHello, and stay
 *	sit   ADDRESS PORT NAME CONNECTIONS MS	TLS, one GET, and stay
 *	drop  - - - 0 0				close those that stayed
 *
 * The same loader runs beside the origin, behind another proxy and inside a
 * sandbox.  It verifies no certificate: that would be paid on every path alike.
 */
#include "schema/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* What the origins answer, and the most connections of one order. */
#define ANSWER_BYTES 1024
#define CONNECTIONS_MAX 8192
#define LATENCIES_MAX 2000000
#define READ_BYTES 262144
#define HELLO_BYTES 4096
#define HEAD_BYTES 2048

/* How long the last answers may take when the time is over. */
#define DRAIN_MS 3000

enum step {
	STEP_CLOSED,
	STEP_CONNECTING,
	STEP_SHAKING,
	STEP_WAITING, /* for the answer */
	STEP_STAYING,
};

struct mode {
	const char *name;
	bool tls, endless;
	bool again; /* asks again on the same connection */
	bool stays; /* and is there when the order is carried out */
};

static const struct mode modes[] = {
	{ .name = "hello" },
	{ .name = "bulk", .endless = true },
	{ .name = "keep", .tls = true, .again = true, .stays = true },
	{ .name = "new", .tls = true },
	{ .name = "open", .stays = true },
	{ .name = "sit", .tls = true, .stays = true },
};

struct connection {
	SSL *ssl;
	int64_t began_us;
	size_t got; /* of this answer */
	size_t wanted; /* 0: its head is not read yet */
	uint32_t interest;
	int fd;
	enum step step;
	char head[HEAD_BYTES];
};

struct order {
	const struct mode *mode;
	char *address, *port, *name;
	unsigned long connections, ms;
};

struct load {
	struct connection *list;
	SSL_CTX *tls;
	struct order order;
	struct sockaddr_storage to;
	socklen_t to_length;
	int poll;
	unsigned alive;
	bool over; /* nothing new is begun */
	uint64_t done, failed, bytes;
	uint32_t *latencies;
	size_t latency_count;
	size_t hello_length, request_length;
	unsigned char hello[HELLO_BYTES];
	char request[512];
	char sink[READ_BYTES];
};

static NORETURN void
die(const char *what)
{
	(void)fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int64_t
now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void
interest(struct load *load, struct connection *one, uint32_t wanted)
{
	struct epoll_event event = { .events = wanted, .data.ptr = one };
	int what = one->interest == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;

	if (one->interest == wanted)
		return;
	if (epoll_ctl(load->poll, what, one->fd, &event) != 0)
		die("epoll_ctl");
	one->interest = wanted;
}

static void
connection_close(struct load *load, struct connection *one)
{
	if (one->step == STEP_CLOSED)
		return;
	SSL_free(one->ssl);
	(void)close(one->fd);
	one->ssl = NULL;
	one->step = STEP_CLOSED;
	load->alive--;
}

static void connection_open(struct load *load, struct connection *one);

static void
connection_fail(struct load *load, struct connection *one)
{
	load->failed++;
	connection_close(load, one);
	/* One that never works must not turn the loader into a busy loop. */
	if (!load->over && load->failed < load->order.connections * 10)
		connection_open(load, one);
}

static void
connection_open(struct load *load, struct connection *one)
{
	int on = 1, fd = socket(load->to.ss_family,
			SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	one->fd = fd;
	one->interest = 0;
	one->got = 0;
	one->wanted = 0;
	one->began_us = now_us();
	one->step = STEP_CONNECTING;
	load->alive++;
	if (connect(fd, (struct sockaddr *)&load->to, load->to_length) != 0 &&
	    errno != EINPROGRESS) {
		load->failed++;
		connection_close(load, one);
		return;
	}
	interest(load, one, EPOLLOUT);
}

/* One answer is complete. */
static void
connection_done(struct load *load, struct connection *one)
{
	int64_t took = now_us() - one->began_us;

	load->done++;
	if (load->latency_count < LATENCIES_MAX)
		load->latencies[load->latency_count++] = (uint32_t)took;
}

static void
ask(struct load *load, struct connection *one)
{
	bool tls = load->order.mode->tls;
	size_t length = tls ? load->request_length : load->hello_length;
	ssize_t sent;

	one->got = 0;
	one->wanted = 0;
	one->step = STEP_WAITING;
	/* A new connection's time began when it was opened. */
	if (load->order.mode->again)
		one->began_us = now_us();
	if (tls)
		sent = SSL_write(one->ssl, load->request, (int)length);
	else
		sent = send(one->fd, load->hello, length, MSG_NOSIGNAL);
	/* An empty send buffer takes a request whole. */
	if (sent != (ssize_t)length)
		connection_fail(load, one);
	else
		interest(load, one, EPOLLIN);
}

/* The answer's length: its head and a body of known size. */
static bool
read_head(struct connection *one)
{
	const char *end;

	end = memmem(one->head, one->got, "\r\n\r\n", 4);
	if (end == NULL)
		return one->got < sizeof(one->head);
	one->wanted = (size_t)(end - one->head) + 4 + ANSWER_BYTES;
	return strncmp(one->head, "HTTP/1.1 200", 12) == 0;
}

static void
answered(struct load *load, struct connection *one)
{
	const struct mode *mode = load->order.mode;

	connection_done(load, one);
	if (mode->again && !load->over) {
		ask(load, one);
	} else if (mode->stays) {
		one->step = STEP_STAYING;
	} else {
		connection_close(load, one);
		if (!load->over)
			connection_open(load, one);
	}
}

/* True while more of the answer may be at hand. */
static bool
read_tls_answer(struct load *load, struct connection *one)
{
	int got = SSL_read(one->ssl, one->head + one->got,
	    (int)(sizeof(one->head) - one->got));

	if (got <= 0) {
		if (SSL_get_error(one->ssl, got) != SSL_ERROR_WANT_READ)
			connection_fail(load, one);
		return false;
	}
	load->bytes += (uint64_t)got;
	one->got += (size_t)got;
	if (one->wanted == 0 && !read_head(one)) {
		connection_fail(load, one);
		return false;
	}
	if (one->wanted == 0 || one->got < one->wanted)
		return SSL_pending(one->ssl) > 0;
	answered(load, one);
	return false;
}

static void
on_tls_answer(struct load *load, struct connection *one)
{
	while (read_tls_answer(load, one))
		;
}

static void
on_plain_answer(struct load *load, struct connection *one)
{
	ssize_t got = recv(one->fd, load->sink, sizeof(load->sink), 0);

	if (got < 0 && errno == EAGAIN)
		return;
	if (got > 0) {
		load->bytes += (uint64_t)got;
		one->got += (size_t)got;
	}
	if (load->order.mode->endless) {
		if (got <= 0)
			connection_fail(load, one);
		else if (load->over)
			answered(load, one);
		return;
	}
	if (load->order.mode->stays && one->got == ANSWER_BYTES)
		answered(load, one);
	else if (got < 0 || (got == 0 && one->got != ANSWER_BYTES))
		connection_fail(load, one);
	else if (got == 0)
		answered(load, one);
}

static void
on_shaking(struct load *load, struct connection *one)
{
	int result = SSL_connect(one->ssl);

	if (result == 1) {
		ask(load, one);
		return;
	}
	switch (SSL_get_error(one->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		interest(load, one, EPOLLIN);
		break;
	case SSL_ERROR_WANT_WRITE:
		interest(load, one, EPOLLOUT);
		break;
	default:
		connection_fail(load, one);
		break;
	}
}

static void
on_connected(struct load *load, struct connection *one)
{
	int error = 0;
	socklen_t length = sizeof(error);

	if (getsockopt(one->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 ||
	    error != 0) {
		connection_fail(load, one);
		return;
	}
	if (!load->order.mode->tls) {
		ask(load, one);
		return;
	}
	one->ssl = SSL_new(load->tls);
	if (one->ssl == NULL || SSL_set_fd(one->ssl, one->fd) != 1 ||
	    SSL_set_tlsext_host_name(one->ssl, unconst(load->order.name)) != 1)
		die("SSL_new");
	one->step = STEP_SHAKING;
	on_shaking(load, one);
}

static void
on_event(struct load *load, struct connection *one)
{
	switch (one->step) {
	case STEP_CONNECTING:
		on_connected(load, one);
		break;
	case STEP_SHAKING:
		on_shaking(load, one);
		break;
	case STEP_WAITING:
		if (load->order.mode->tls)
			on_tls_answer(load, one);
		else
			on_plain_answer(load, one);
		break;
	case STEP_STAYING: /* the other side ended it */
		load->failed++;
		connection_close(load, one);
		break;
	case STEP_CLOSED:
		break;
	}
}

static void
poll_once(struct load *load, int ms)
{
	struct epoll_event events[256];
	int count = epoll_wait(load->poll, events, 256, ms);

	if (count < 0 && errno != EINTR)
		die("epoll_wait");
	for (int i = 0; i < count; i++)
		on_event(load, events[i].data.ptr);
}

/* A ClientHello as OpenSSL makes it, to be sent as it is. */
static void
make_hello(struct load *load)
{
	SSL *ssl = SSL_new(load->tls);
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	int length;

	if (ssl == NULL || in == NULL || out == NULL)
		die("BIO_new");
	SSL_set_bio(ssl, in, out);
	if (SSL_set_tlsext_host_name(ssl, unconst(load->order.name)) != 1)
		die("SSL_set_tlsext_host_name");
	(void)SSL_connect(ssl);
	length = BIO_read(out, load->hello, sizeof(load->hello));
	if (length <= 0)
		die("no ClientHello");
	load->hello_length = (size_t)length;
	SSL_free(ssl);
}

static void
make_request(struct load *load)
{
	int length = snprintf(load->request, sizeof(load->request),
	    "GET /1k HTTP/1.1\r\nHost: %s:%s\r\nUser-Agent: load\r\n"
	    "Accept: */*\r\n%s\r\n",
	    load->order.name, load->order.port,
	    load->order.mode->stays ? "" : "Connection: close\r\n");

	if (length < 0 || (size_t)length >= sizeof(load->request))
		die("the name is too long");
	load->request_length = (size_t)length;
}

static void
resolve(struct load *load)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_family = AF_INET };
	struct addrinfo *found;

	if (getaddrinfo(
		load->order.address, load->order.port, &hints, &found) != 0)
		die("no such name");
	memcpy(&load->to, found->ai_addr, found->ai_addrlen);
	load->to_length = found->ai_addrlen;
	freeaddrinfo(found);
}

static int
compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static unsigned
percentile(const struct load *load, size_t percent)
{
	if (load->latency_count == 0)
		return 0;
	return load->latencies[(load->latency_count - 1) * percent / 100];
}

static void
tell(struct load *load, int64_t took_us)
{
	qsort(load->latencies, load->latency_count, sizeof(uint32_t), compare);
	(void)printf("{\"done\": %llu, \"failed\": %llu, \"bytes\": %llu, "
		     "\"us\": %lld, \"p50\": %u, \"p99\": %u, \"alive\": %u}\n",
	    (unsigned long long)load->done, (unsigned long long)load->failed,
	    (unsigned long long)load->bytes, (long long)took_us,
	    percentile(load, 50), percentile(load, 99), load->alive);
	(void)fflush(stdout);
}

static void
begin(struct load *load, struct connection *one)
{
	if (one->step == STEP_STAYING)
		ask(load, one);
	else if (one->step == STEP_CLOSED)
		connection_open(load, one);
}

/* Those that only stay are opened a few at a time, as a program would. */
static void
begin_all(struct load *load, int64_t end)
{
	bool gently = load->order.mode->stays && !load->order.mode->again;

	for (size_t i = 0; i < load->order.connections; i++) {
		begin(load, &load->list[i]);
		while (gently && now_us() < end &&
		       load->done + load->failed + 32 < i)
			poll_once(load, 100);
	}
}

static bool
is_busy(const struct load *load)
{
	for (size_t i = 0; i < load->order.connections; i++)
		if (load->list[i].step != STEP_CLOSED &&
		    load->list[i].step != STEP_STAYING)
			return true;
	return false;
}

static void
carry_out(struct load *load)
{
	const struct mode *mode = load->order.mode;
	int64_t began = now_us(),
		end = began + (int64_t)load->order.ms * INT64_C(1000);

	load->done = 0;
	load->failed = 0;
	load->bytes = 0;
	load->latency_count = 0;
	load->over = mode->stays && !mode->again;
	begin_all(load, end);
	while (now_us() < end && is_busy(load))
		poll_once(load, 50);
	/* What is under way counts, and so does the time it takes. */
	load->over = true;
	end += DRAIN_MS * INT64_C(1000);
	while (now_us() < end && is_busy(load))
		poll_once(load, 50);
	tell(load, now_us() - began);
	for (size_t i = 0; !mode->stays && i < load->order.connections; i++)
		connection_close(load, &load->list[i]);
}

static void
close_all(struct load *load)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		connection_close(load, &load->list[i]);
}

static void
drop_all(struct load *load)
{
	close_all(load);
	(void)printf("{}\n");
	(void)fflush(stdout);
}

static const struct mode *
mode_named(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

static void
obey(struct load *load, char *line)
{
	char *word[6];

	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < 6; i++) {
		word[i] = strsep(&line, " ");
		if (word[i] == NULL)
			die("an order has six words");
	}
	if (strcmp(word[0], "drop") == 0) {
		drop_all(load);
		return;
	}
	load->order = (struct order){ .mode = mode_named(word[0]),
		.address = word[1],
		.port = word[2],
		.name = word[3],
		.connections = strtoul(word[4], NULL, 10),
		.ms = strtoul(word[5], NULL, 10) };
	if (load->order.mode == NULL ||
	    load->order.connections > CONNECTIONS_MAX)
		die("no such order");
	resolve(load);
	make_hello(load);
	make_request(load);
	carry_out(load);
}

int
main(void)
{
	struct load *load = calloc(1, sizeof(*load));
	struct rlimit files;
	char *line = NULL;
	size_t size = 0;

	if (load == NULL)
		die("calloc");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	load->list = calloc(CONNECTIONS_MAX, sizeof(*load->list));
	load->latencies = calloc(LATENCIES_MAX, sizeof(uint32_t));
	load->tls = SSL_CTX_new(TLS_client_method());
	load->poll = epoll_create1(EPOLL_CLOEXEC);
	if (load->list == NULL || load->latencies == NULL ||
	    load->tls == NULL || load->poll < 0)
		die("no memory");
	while (getline(&line, &size, stdin) > 0)
		obey(load, line);
	free(line);
	close_all(load);
	SSL_CTX_free(load->tls);
	(void)close(load->poll);
	free(load->latencies);
	free(load->list);
	free(load);
	return 0;
}
