#include "gateway/cli/visit.h"

#include "gateway/cli/settings.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/rundir.h"
#include "schema/order.h"
#include "schema/status.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define US_A_MS 1000

int
visit_open(struct visit *ret, const struct settings *settings, const char *run,
    struct problem *reterr)
{
	int fd = -1;
	int status = rundir_connect(settings->runs, run, &fd, reterr);

	if (status == STATUS_NOT_FOUND)
		return problem_set(reterr, "there is no run %.80s", run);
	if (status != STATUS_OK)
		return status;
	ret->fd = fd;
	return STATUS_OK;
}

void
visit_done(struct visit *visit)
{
	if (visit->fd >= 0)
		(void)close(steal_fd(&visit->fd));
}

int
visit_send(const struct visit *visit, const struct cursor_writer *out, int fd,
    struct problem *reterr)
{
	if (!cursor_written(out))
		return problem_set(reterr, "this is too long for the run");
	if (fdpass_send(visit->fd, out->bytes, out->used, &fd,
		fd < 0 ? 0 : 1) != STATUS_OK)
		return problem_set(reterr, "the run has ended");
	return STATUS_OK;
}

/* Waits for a packet until the deadline. */
static bool
wait_until(int fd, int64_t deadline_us)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	for (;;) {
		int64_t left = (deadline_us - clock_monotonic_us()) / US_A_MS;
		int ready = poll(&wait, 1, left > 0 ? (int)left : 0);

		if (ready > 0)
			return true;
		if (ready == 0 || errno != EINTR)
			return false;
	}
}

/* Reads one frame into packet, which has LIMIT_FRAME bytes. */
static int
hear(const struct visit *visit, int64_t deadline_us, unsigned char *packet,
    struct frame *ret, struct problem *reterr)
{
	struct fdpass fds = { .count = 0 };
	size_t length = 0;
	int status;

	if (!wait_until(visit->fd, deadline_us))
		return problem_set(reterr, "the run does not answer");
	status = fdpass_receive(visit->fd, packet, LIMIT_FRAME, &length, &fds);
	if (status == STATUS_OK)
		status = frame_parse(packet, length, ret);
	fdpass_done(&fds);
	if (status != STATUS_OK)
		return problem_set(reterr, "the run has ended");
	return STATUS_OK;
}

static int
take_done(const struct frame *frame, struct problem *reterr)
{
	struct problem problem = { .text = "" };

	if (order_failed_read(frame->body, &problem) != STATUS_OK)
		return problem_set(reterr, "the run says what it may not say");
	if (problem.text[0] == '\0')
		return STATUS_OK;
	*reterr = problem;
	return STATUS_PROBLEM;
}

int
visit_ask(const struct visit *visit, const struct cursor_writer *out,
    visit_frame *on_frame, void *arg, struct problem *reterr)
{
	int64_t deadline_us =
	    clock_monotonic_us() + (int64_t)LIMIT_SIBLING_MS * US_A_MS;
	unsigned char *packet = malloc(LIMIT_FRAME);
	struct frame frame = { .type = 0 };
	int status;

	if (packet == NULL)
		return problem_set(reterr, "there is no memory");
	status = visit_send(visit, out, -1, reterr);
	while (status == STATUS_OK) {
		status = hear(visit, deadline_us, packet, &frame, reterr);
		if (status != STATUS_OK)
			break;
		if (frame.type == FRAME_DESK_DONE) {
			status = take_done(&frame, reterr);
			break;
		}
		if (on_frame != NULL)
			on_frame(&frame, arg);
	}
	free(packet);
	return status;
}
