#include "gateway/launch/serve.h"

#include "gateway/launch/join.h"
#include "gateway/launch/report.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/loop.h"
#include "schema/limits.h"
#include "schema/reins.h"
#include "schema/status.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#define SERVE_PACKET 1024 /* the largest that goes up: a problem */

/* How often it is looked whether a pause has come true, and how long. */
#define SERVE_LOOK_US 10000
#define SERVE_LOOKS (LIMIT_PAUSE_MS * 1000 / SERVE_LOOK_US)

/* A program that was sent in. */
struct guest {
	LIST_ENTRY(guest) entry;
	struct serve *serve;
	uint32_t number;
	struct joined joined;
	struct event *ended, *told;
};

struct serve {
	struct loop *loop;
	const struct serve_events *events;
	void *arg;
	struct channel *parent;
	struct serve_target target;
	bool begun, let_go, paused;
	/* A pause that has yet to come true. */
	struct event *look;
	uint32_t pausing;
	int looks;
	LIST_HEAD(, guest) guests;
	size_t guest_count;
};

static void
send_up(struct serve *serve, const struct cursor_writer *out, const int *fds,
    size_t count)
{
	/* A parent that takes no answer is about to be gone. */
	(void)!channel_send(serve->parent, out, fds, count);
}

static void
say_done(struct serve *serve, uint32_t number, const struct problem *problem)
{
	unsigned char packet[SERVE_PACKET];
	struct cursor_writer out =
	    frame_begin(FRAME_REINS_DONE, packet, sizeof(packet));
	struct reins_done done = { .number = number };

	if (problem != NULL)
		done.problem = *problem;
	reins_done_write(&done, &out);
	send_up(serve, &out, NULL, 0);
}

static void
say_problem(struct serve *serve, uint32_t number, const char *text)
{
	struct problem problem = { 0 };

	(void)problem_set(&problem, "%s", text);
	say_done(serve, number, &problem);
}

static void
say_exited(struct serve *serve, uint32_t number, unsigned code)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_REINS_EXITED, packet, sizeof(packet));
	struct reins_exited exited = { number, code };

	reins_exited_write(&exited, &out);
	send_up(serve, &out, NULL, 0);
}

/* ---- programs that were sent in ---- */

static void
dismiss(struct guest *guest)
{
	LIST_REMOVE(guest, entry);
	guest->serve->guest_count--;
	if (guest->ended != NULL)
		event_free(guest->ended);
	if (guest->told != NULL)
		event_free(guest->told);
	joined_done(&guest->joined);
	free(guest);
}

static void
send_terminal(struct guest *guest, struct fdpass *fds)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_REINS_TERMINAL, packet, sizeof(packet));
	int master = fdpass_take(fds, 0);

	reins_number_write(guest->number, &out);
	send_up(guest->serve, &out, &master, 1);
	(void)close(master);
}

/* Everything it has to tell of its start. */
static void
hear(struct guest *guest)
{
	struct report report;
	struct fdpass fds;

	while (
	    report_receive(guest->joined.control, &report, &fds) == STATUS_OK) {
		if (report.kind == REPORT_TERMINAL)
			send_terminal(guest, &fds);
		else if (report.kind == REPORT_RECORDER)
			guest->serve->events->on_recorder(
			    fdpass_take(&fds, 0), guest->serve->arg);
		else if (report.kind == REPORT_FAILED)
			say_done(guest->serve, guest->number, &report.problem);
		fdpass_done(&fds);
	}
}

static void
on_told(evutil_socket_t fd, short what, void *arg)
{
	struct guest *guest = arg;

	(void)fd;
	(void)what;
	hear(guest);
}

static void
on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct guest *guest = arg;

	(void)fd;
	(void)what;
	hear(guest);
	say_exited(guest->serve, guest->number, join_code(&guest->joined));
	dismiss(guest);
}

static bool
attend(struct guest *guest)
{
	struct event_base *base = loop_base(guest->serve->loop);

	guest->ended = event_new(
	    base, guest->joined.pidfd, EV_READ | EV_PERSIST, on_ended, guest);
	/* Edge by edge: its end stays readable for ever. */
	guest->told = event_new(base, guest->joined.control,
	    EV_READ | EV_ET | EV_PERSIST, on_told, guest);
	return guest->ended != NULL && guest->told != NULL &&
	       event_add(guest->ended, NULL) == 0 &&
	       event_add(guest->told, NULL) == 0;
}

static int
admit(struct serve *serve, uint32_t number, const struct reins_exec *exec,
    const int *fds, struct problem *reterr)
{
	const struct join_order order = { .plan = serve->target.plan,
		.bounds = serve->target.bounds,
		.ids = serve->target.ids,
		.init = serve->target.init,
		.exec = exec,
		.fds = fds };
	struct guest *guest;
	int status;

	if (serve->guest_count >= LIMIT_GUESTS)
		return problem_set(reterr,
		    "%d programs were sent into it already", LIMIT_GUESTS);
	guest = calloc(1, sizeof(*guest));
	if (guest == NULL)
		return problem_set(reterr, "there is no memory");
	status = join_start(&order, &guest->joined, reterr);
	if (status != STATUS_OK) {
		free(guest);
		return status;
	}
	guest->serve = serve;
	guest->number = number;
	LIST_INSERT_HEAD(&serve->guests, guest, entry);
	serve->guest_count++;
	if (attend(guest))
		return STATUS_OK;
	dismiss(guest);
	return problem_set(reterr, "there is no memory");
}

/* ---- frames ---- */

static bool
take_exec(struct serve *serve, uint32_t number, struct cursor body,
    struct fdpass *fds)
{
	struct reins_exec exec;
	struct problem problem = { 0 };

	if (reins_exec_read(body, &exec) != STATUS_OK)
		return false;
	if (serve->paused)
		say_problem(serve, number, "the run is paused");
	else if (admit(serve, number, &exec, fds->fds, &problem) == STATUS_OK)
		return true;
	else
		say_done(serve, number, &problem);
	say_exited(serve, number, 125);
	return true;
}

static bool
take_drop(struct serve *serve, uint32_t number, struct cursor body,
    struct fdpass *fds)
{
	struct guest *guest;

	(void)fds;
	LIST_FOREACH(guest, &serve->guests, entry)
		if (guest->number == number) {
			dismiss(guest);
			break;
		}
	return cursor_is_empty(&body);
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct serve *serve = arg;

	(void)fd;
	(void)what;
	if (pause_is_done(&serve->target.pause)) {
		(void)event_del(serve->look);
		say_done(serve, serve->pausing, NULL);
		return;
	}
	/* Somebody was just being born when all others were stopped. */
	(void)!pause_ask(&serve->target.pause, true);
	if (++serve->looks < SERVE_LOOKS)
		return;
	(void)event_del(serve->look);
	say_problem(serve, serve->pausing,
	    "some of its processes still run; they are stopped as soon as "
	    "the kernel lets them");
}

static bool
take_pause(struct serve *serve, uint32_t number, struct cursor body,
    struct fdpass *fds)
{
	static const struct timeval often = { .tv_usec = SERVE_LOOK_US };

	(void)fds;
	if (serve->paused) {
		say_problem(serve, number, "the run is paused already");
		return cursor_is_empty(&body);
	}
	if (pause_ask(&serve->target.pause, true) != STATUS_OK ||
	    event_add(serve->look, &often) != 0) {
		say_problem(serve, number, "the run cannot be paused");
		return cursor_is_empty(&body);
	}
	serve->paused = true;
	serve->pausing = number;
	serve->looks = 0;
	serve->events->on_pause(true, serve->arg);
	return cursor_is_empty(&body);
}

static bool
take_resume(struct serve *serve, uint32_t number, struct cursor body,
    struct fdpass *fds)
{
	(void)fds;
	if (!serve->paused)
		say_problem(serve, number, "the run is not paused");
	else if (pause_ask(&serve->target.pause, false) != STATUS_OK)
		say_problem(serve, number, "the run cannot go on");
	else {
		(void)event_del(serve->look);
		serve->paused = false;
		serve->events->on_pause(false, serve->arg);
		say_done(serve, number, NULL);
	}
	return cursor_is_empty(&body);
}

static bool
take_stop(struct serve *serve, uint32_t number, struct cursor body,
    struct fdpass *fds)
{
	(void)fds;
	say_done(serve, number, NULL);
	serve->events->on_stop(serve->arg);
	return cursor_is_empty(&body);
}

static const struct {
	uint16_t type;
	bool (*take)(struct serve *serve, uint32_t number, struct cursor body,
	    struct fdpass *fds);
} requests[] = {
	{ FRAME_REINS_PAUSE, take_pause },
	{ FRAME_REINS_RESUME, take_resume },
	{ FRAME_REINS_STOP, take_stop },
	{ FRAME_REINS_EXEC, take_exec },
	{ FRAME_REINS_DROP, take_drop },
};

static bool
take_request(struct serve *serve, const struct frame *frame, struct fdpass *fds)
{
	struct cursor body = frame->body;
	uint32_t number;

	if (!cursor_u32(&body, &number))
		return false;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (requests[i].type != frame->type)
			continue;
		if (serve->begun)
			return requests[i].take(serve, number, body, fds);
		say_problem(serve, number, "the command has not begun yet");
		if (frame->type == FRAME_REINS_EXEC)
			say_exited(serve, number, 125);
		return true;
	}
	return false;
}

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct serve *serve = arg;

	if (frame->type == FRAME_REINS_GO && !serve->let_go &&
	    cursor_is_empty(&frame->body)) {
		serve->let_go = true;
		serve->events->on_go(serve->arg);
		return;
	}
	if (!take_request(serve, frame, fds))
		channel_end(channel, STATUS_MALFORMED);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct serve *serve = arg;

	(void)channel;
	(void)status;
	serve->events->on_left(serve->arg);
}

struct serve *
serve_new(
    struct loop *loop, int parent, const struct serve_events *events, void *arg)
{
	static const struct channel_events channel_events = {
		.on_frame = on_frame, .on_end = on_end
	};
	struct serve *serve = calloc(1, sizeof(*serve));

	if (serve == NULL) {
		(void)close(parent);
		return NULL;
	}
	serve->loop = loop;
	serve->events = events;
	serve->arg = arg;
	LIST_INIT(&serve->guests);
	serve->parent = channel_new(loop, parent, &channel_events, serve);
	serve->look =
	    event_new(loop_base(loop), -1, EV_PERSIST, on_look, serve);
	if (serve->parent != NULL && serve->look != NULL)
		return serve;
	serve_free(serve);
	return NULL;
}

void
serve_free(struct serve *serve)
{
	if (serve == NULL)
		return;
	while (!LIST_EMPTY(&serve->guests))
		dismiss(LIST_FIRST(&serve->guests));
	channel_free(serve->parent);
	if (serve->look != NULL)
		event_free(serve->look);
	free(serve);
}

void
serve_begin(struct serve *serve, const struct serve_target *target)
{
	serve->target = *target;
	serve->begun = true;
}
