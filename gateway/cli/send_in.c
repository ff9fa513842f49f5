#include "gateway/cli/send_in.h"

#include "gateway/cli/signals.h"
#include "gateway/cli/visit.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/pipes.h"
#include "gateway/proc/terminal.h"
#include "schema/order.h"
#include "schema/reins.h"
#include "schema/status.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CODE_OF_SIGNAL 128

struct session {
	struct loop *loop;
	struct channel *channel;
	struct terminal *terminal;
	struct pipes *pipes;
	struct signals *signals;
	struct problem problem; /* with a text: it failed */
	unsigned code;
};

static void
fail(struct session *session, const char *text)
{
	(void)problem_set(&session->problem, "%s", text);
	loop_stop(session->loop);
}

static void
take_exited(struct session *session, struct cursor body)
{
	uint32_t code;

	if (!cursor_u32(&body, &code) || code > 255 ||
	    !cursor_is_empty(&body)) {
		fail(session, "the run says what it may not say");
		return;
	}
	session->code = code;
	loop_stop(session->loop);
}

/* Why it could not be started; its code follows. */
static void
take_done(struct session *session, struct cursor body)
{
	struct problem problem;

	if (order_failed_read(body, &problem) != STATUS_OK) {
		fail(session, "the run says what it may not say");
		return;
	}
	log_error("%s%s%s", problem.text, problem.cure[0] == '\0' ? "" : "; ",
	    problem.cure);
}

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct session *session = arg;

	if (frame->type == FRAME_DESK_EXITED)
		take_exited(session, frame->body);
	else if (frame->type == FRAME_DESK_DONE)
		take_done(session, frame->body);
	else if (frame->type == FRAME_DESK_TERMINAL &&
		 terminal_waits(session->terminal)) {
		if (terminal_begin(session->terminal, session->loop,
			fdpass_take(fds, 0), &session->problem) != STATUS_OK)
			loop_stop(session->loop);
	} else
		channel_end(channel, STATUS_MALFORMED);
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	(void)channel;
	(void)status;
	fail(arg, "the run has ended");
}

/* Our end is the program's: the run sees us leave. */
static void
on_signal(int number, bool from_terminal, void *arg)
{
	struct session *session = arg;

	if (number == SIGWINCH)
		terminal_resize(session->terminal);
	else if (number == SIGCONT)
		terminal_resume(session->terminal);
	else if (!from_terminal ||
		 !terminal_signal(session->terminal, number)) {
		session->code = (unsigned)(CODE_OF_SIGNAL + number);
		loop_stop(session->loop);
	}
}

static int
write_order(const struct session *session, const struct send_in *order,
    struct cursor_writer *out, struct problem *reterr)
{
	struct reins_exec exec = { .count = 0 };
	unsigned char *bytes = malloc(LIMIT_FRAME);
	struct cursor_writer argv = cursor_writer_of(bytes, LIMIT_FRAME);
	const struct winsize *size = &terminal_look(session->terminal)->size;

	if (bytes == NULL)
		return problem_set(reterr, "there is no memory");
	for (char **word = order->argv; *word != NULL; word++) {
		cursor_put_string(&argv, *word);
		exec.count++;
	}
	if (!cursor_written(&argv) || strlen(order->cwd) >= sizeof(exec.cwd)) {
		free(bytes);
		return problem_set(reterr, "the command is too long");
	}
	memcpy(exec.cwd, order->cwd, strlen(order->cwd) + 1);
	exec.terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
	exec.rows = size->ws_row;
	exec.columns = size->ws_col;
	exec.argv = cursor_of(argv.bytes, argv.used);
	reins_exec_write(&exec, out);
	free(bytes);
	return STATUS_OK;
}

static int
send_order(struct session *session, const struct send_in *order,
    struct problem *reterr)
{
	unsigned char *packet = malloc(LIMIT_FRAME);
	struct cursor_writer out =
	    frame_begin(FRAME_DESK_EXEC, packet, LIMIT_FRAME);
	int fds[REINS_EXEC_FDS], status;

	if (packet == NULL)
		return problem_set(reterr, "there is no memory");
	status = write_order(session, order, &out, reterr);
	pipes_ends(session->pipes, fds);
	if (status == STATUS_OK && channel_send(session->channel, &out, fds,
				       REINS_EXEC_FDS) != STATUS_OK)
		status = problem_set(reterr, "the run has ended");
	free(packet);
	return status;
}

static int
begin(struct session *session, struct visit *visit, struct problem *reterr)
{
	static const struct channel_events events = { .on_frame = on_frame,
		.on_end = on_end };
	int status;

	session->loop = loop_new();
	if (session->loop == NULL)
		return problem_set(reterr, "there is no memory");
	session->channel =
	    channel_new(session->loop, steal_fd(&visit->fd), &events, session);
	session->signals = signals_new(session->loop, on_signal, session);
	if (session->channel == NULL || session->signals == NULL)
		return problem_set(reterr, "there is no memory");
	status = terminal_new(true, &session->terminal, reterr);
	if (status == STATUS_OK)
		status = pipes_new(&session->pipes, reterr);
	return status;
}

static void
end(struct session *session)
{
	channel_free(session->channel);
	terminal_free(session->terminal);
	pipes_free(session->pipes);
	signals_free(session->signals);
	loop_free(session->loop);
}

int
send_in(const struct send_in *order, const struct settings *settings,
    unsigned *ret_code, struct problem *reterr)
{
	struct session session = { .code = 0 };
	struct visit visit = { .fd = -1 };
	int status = visit_open(&visit, settings, order->run, reterr);

	if (status == STATUS_OK)
		status = begin(&session, &visit, reterr);
	if (status == STATUS_OK)
		status = send_order(&session, order, reterr);
	if (status == STATUS_OK)
		status = pipes_begin(session.pipes, session.loop, reterr);
	if (status == STATUS_OK && loop_run(session.loop) != STATUS_OK)
		status = problem_errno(reterr, "the loop cannot run");
	visit_done(&visit);
	end(&session);
	if (status == STATUS_OK && session.problem.text[0] != '\0') {
		*reterr = session.problem;
		status = STATUS_PROBLEM;
	}
	if (status == STATUS_OK)
		*ret_code = session.code;
	return status;
}
