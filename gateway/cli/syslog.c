#include "gateway/cli/syslog.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	/* Facility 13 is the log audit; severities are warning and alert. */
	PRIORITY_REFUSAL = 13 * 8 + 4,
	PRIORITY_ALERT = 13 * 8 + 1,
	HEAD_MAX = 512,
	HOST_MAX = 256
};

static int
open_unix(
    const char *path, struct syslog_target *target, struct problem *reterr)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(name.sun_path))
		return problem_set(reterr, "the path %.80s is too long", path);
	memcpy(name.sun_path, path, strlen(path) + 1);
	target->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (target->fd < 0 ||
	    connect(target->fd, (const struct sockaddr *)&name, sizeof(name)) !=
		0)
		return problem_errno(reterr, "cannot reach syslog at %s", path);
	return STATUS_OK;
}

static bool
connect_any(const struct addrinfo *list, struct syslog_target *target)
{
	for (; list != NULL; list = list->ai_next) {
		int fd = socket(list->ai_family,
		    list->ai_socktype | SOCK_CLOEXEC, list->ai_protocol);

		if (fd < 0)
			continue;
		if (connect(fd, list->ai_addr, list->ai_addrlen) == 0) {
			target->fd = fd;
			return true;
		}
		(void)close(fd);
	}
	return false;
}

/* "HOST:PORT", where HOST may stand in brackets. */
static bool
split(const char *text, char host[HOST_MAX], const char **ret_port)
{
	const char *colon = strrchr(text, ':');
	size_t length;

	if (colon == NULL || colon == text || colon[1] == '\0')
		return false;
	length = (size_t)(colon - text);
	if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= HOST_MAX)
		return false;
	memcpy(host, text, length);
	host[length] = '\0';
	*ret_port = colon + 1;
	return true;
}

static int
open_network(const char *text, int type, struct syslog_target *target,
    struct problem *reterr)
{
	const struct addrinfo hints = { .ai_socktype = type };
	struct addrinfo *list;
	const char *port;
	char host[HOST_MAX];
	int result;
	bool well;

	if (!split(text, host, &port))
		return problem_set(reterr, "\"%.80s\" is not HOST:PORT", text);
	result = getaddrinfo(host, port, &hints, &list);
	if (result != 0)
		return problem_set(reterr, "cannot find %.80s: %s", text,
		    gai_strerror(result));
	well = connect_any(list, target);
	freeaddrinfo(list);
	target->counts = type == SOCK_STREAM;
	return well ? STATUS_OK
		    : problem_errno(
			  reterr, "cannot reach syslog at %.80s", text);
}

int
syslog_open(
    const char *target, struct syslog_target *ret, struct problem *reterr)
{
	struct syslog_target opened = { .fd = -1 };
	int status;

	if (gethostname(opened.machine, sizeof(opened.machine) - 1) != 0)
		opened.machine[0] = '-';
	if (strncmp(target, "unix:", 5) == 0) {
		status = open_unix(target + 5, &opened, reterr);
	} else if (strncmp(target, "udp:", 4) == 0) {
		status = open_network(target + 4, SOCK_DGRAM, &opened, reterr);
	} else if (strncmp(target, "tcp:", 4) == 0) {
		status = open_network(target + 4, SOCK_STREAM, &opened, reterr);
	} else {
		(void)problem_set(
		    reterr, "\"%.80s\" names no syslog daemon", target);
		return problem_cure(
		    reterr, "Use unix:/dev/log, udp:HOST:514 or tcp:HOST:601.");
	}
	if (status != STATUS_OK) {
		syslog_close(&opened);
		return status;
	}
	*ret = opened;
	return STATUS_OK;
}

void
syslog_close(struct syslog_target *target)
{
	if (target->fd >= 0)
		(void)close(target->fd);
	target->fd = -1;
}

static bool
send_all(int fd, struct cursor bytes)
{
	while (bytes.left > 0) {
		ssize_t sent = send(fd, bytes.at, bytes.left, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		bytes.at += sent;
		bytes.left -= (size_t)sent;
	}
	return true;
}

int
syslog_send(struct syslog_target *target, struct cursor at, struct cursor text,
    bool is_alert, struct problem *reterr)
{
	char message[HEAD_MAX + LIMIT_SYSLOG_TEXT], count[32];
	struct cursor_writer out = cursor_writer_of(message, sizeof(message));

	cursor_put_u8(&out, '<');
	cursor_put_decimal(&out,
	    is_alert ? (uint64_t)PRIORITY_ALERT : (uint64_t)PRIORITY_REFUSAL);
	cursor_put_text(&out, ">1 ");
	cursor_put(&out, at.at, at.left);
	cursor_put_u8(&out, ' ');
	cursor_put_text(&out, target->machine);
	cursor_put_text(&out, " exeat - audit - ");
	cursor_put(&out, text.at, text.left);
	if (!cursor_written(&out))
		return problem_set(reterr, "a message is too long for syslog");
	if (target->counts) {
		struct cursor_writer head =
		    cursor_writer_of(count, sizeof(count));

		cursor_put_decimal(&head, out.used);
		cursor_put_u8(&head, ' ');
		if (!send_all(target->fd, cursor_of(count, head.used)))
			return problem_errno(reterr, "syslog went away");
	}
	if (!send_all(target->fd, cursor_of(message, out.used)))
		return problem_errno(reterr, "syslog went away");
	return STATUS_OK;
}
