#include "gateway/proc/fdpass.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(sizeof(int) * LIMIT_FRAME_FDS)];
	struct cmsghdr align;
};

void
fdpass_done(struct fdpass *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		if (fds->fds[i] >= 0)
			(void)close(fds->fds[i]);
	fds->count = 0;
}

int
fdpass_take(struct fdpass *fds, size_t index)
{
	if (index >= fds->count)
		return -1;
	return steal_fd(&fds->fds[index]);
}

static int
status_of_errno(void)
{
	switch (errno) {
	case EAGAIN:
		return STATUS_AGAIN;
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		return STATUS_CLOSED;
	default:
		return STATUS_SYSTEM;
	}
}

int
fdpass_send(
    int socket, const void *bytes, size_t length, const int *fds, size_t count)
{
	struct iovec part = { .iov_base = unconst(bytes), .iov_len = length };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t sent;

	if (count > LIMIT_FRAME_FDS || length > LIMIT_FRAME)
		return STATUS_TOO_LONG;
	if (count > 0) {
		struct cmsghdr *header;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? status_of_errno() : STATUS_OK;
}

/* Collects every descriptor of the message, so that none can be lost. */
static bool
collect(struct msghdr *message, struct fdpass *fds)
{
	struct cmsghdr *header;
	bool whole = (message->msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;

	for (header = CMSG_FIRSTHDR(message); header != NULL;
	     header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET ||
		    header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int),
			    sizeof(fd));
			if (fds->count < LIMIT_FRAME_FDS)
				fds->fds[fds->count++] = fd;
			else
				(void)close(fd);
		}
	}
	return whole;
}

int
fdpass_receive(int socket, void *bytes, size_t size, size_t *ret_length,
    struct fdpass *ret_fds)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	union control control = { 0 };
	struct msghdr message = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control) };
	struct fdpass fds = { .count = 0 };
	ssize_t length;

	/*
	 * A peer that left before it had read everything is told once as
	 * ECONNRESET, ahead of its last words, which are still there.
	 */
	do
		length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (length < 0 && (errno == EINTR || errno == ECONNRESET));
	if (length < 0)
		return status_of_errno();
	if (!collect(&message, &fds)) {
		fdpass_done(&fds);
		return STATUS_MALFORMED;
	}
	if (length == 0) {
		fdpass_done(&fds);
		return STATUS_CLOSED;
	}
	*ret_length = (size_t)length;
	*ret_fds = fds;
	return STATUS_OK;
}

int
fdpass_pair(int ret[2])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return STATUS_SYSTEM;
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return STATUS_SYSTEM;
	}
	ret[0] = pair[0];
	ret[1] = pair[1];
	return STATUS_OK;
}
