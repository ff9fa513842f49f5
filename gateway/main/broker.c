/*
 * exeat-broker - keys without a network, for one run.
 *
 * Descriptors: 3 the parent, 4 the gateway, 5 the audit writer, 6 exeat-fetch,
 * and 7, where there is something to keep, the folder for it.
 * Stages:
 *   confine  no dumps, no new privileges, no socket, no program, and no file
 *            but those of its folder
 *   load     take the credential file and what the policy needs of it
 *   gather   take the secrets, from descriptors that the parent opens
 *   loop     answer until the parent says stop, or is gone
 *   end      give back what was minted for this run
 *
 * Every answer is also a row: a second witness to what the gateway says.
 */
#include "broker/catalog.h"
#include "broker/keep.h"
#include "broker/mint.h"
#include "broker/service.h"
#include "gateway/audit/sink.h"
#include "gateway/main/clerk.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/confine.h"
#include "gateway/proc/generation.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/brokerage.h"
#include "schema/json.h"
#include "schema/status.h"

#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FD_PARENT = 3,
	FD_GATEWAY = 4,
	FD_AUDIT = 5,
	FD_FETCH = 6,
	FD_KEEP = 7,
	EXIT_OURS = 125,
	TICK_MS = 100 /* a wait is noticed that much too late at most */
};

enum phase {
	PHASE_LOADING, /* the file, and what is needed of it */
	PHASE_GATHERING, /* its secrets */
	PHASE_SEALING, /* where errands may go */
	PHASE_BEGINNING, /* its first row */
	PHASE_RUNNING,
	PHASE_ENDING
};

struct program {
	struct loop *loop;
	struct sink *sink;
	struct channel *parent, *gateway, *fetch;
	struct generation *generation;
	struct keep *keep; /* NULL: nothing outlives the run */
	struct catalog *catalog;
	struct service *service;
	struct clerk *clerk; /* of its tokens */
	struct event *tick;
	struct problems problems;
	struct brokerage_begin begin;
	struct mint_run run;
	enum phase phase;
	struct sink_wait revocation; /* its row; number 0: none under way */
	bool revoking;
	size_t wanted; /* secrets that are still to come */
	int64_t ends_us; /* when an end waits no longer */
	int exit_status;
};

static const char usage[] =
    "usage: exeat-broker [--log LEVEL]\n"
    "Started by `exeat run` with its channels on descriptors 3 to 6; there\n"
    "is nothing to do with it by hand.\n";

static struct service_time
now(void)
{
	return (struct service_time){ .wall_us = clock_wall_us(),
		.monotonic_us = clock_monotonic_us() };
}

/* ---- to the parent ---- */

static void
stop(struct program *program, int exit_status)
{
	program->exit_status = exit_status;
	loop_stop(program->loop);
}

static void
tell(struct program *program, const struct cursor_writer *out)
{
	if (channel_send(program->parent, out, NULL, 0) != STATUS_OK)
		stop(program, EXIT_OURS);
}

static void
fail(struct program *program, const struct problem *problem)
{
	unsigned char packet[2048];
	struct cursor_writer out;

	for (size_t i = 0; i < program->problems.count; i++) {
		out = frame_begin(FRAME_BROKER_PROBLEM, packet, sizeof(packet));
		brokerage_problem_write(&program->problems.list[i], &out);
		tell(program, &out);
	}
	out = frame_begin(FRAME_BROKER_FAILED, packet, sizeof(packet));
	cursor_put_string(&out, problem->text);
	cursor_put_string(&out, problem->cure);
	tell(program, &out);
	stop(program, EXIT_OURS);
}

static void
fail_with(struct program *program, const char *text)
{
	struct problem problem = { .text = "" };

	(void)problem_set(&problem, "%s", text);
	fail(program, &problem);
}

/* ---- what the service needs ---- */

static int
on_send(const struct cursor_writer *out, void *arg)
{
	struct program *program = arg;

	return channel_send(program->gateway, out, NULL, 0);
}

static int
on_record(struct event *event, void *arg)
{
	struct program *program = arg;

	if (!sink_is_open(program->sink))
		return STATUS_CLOSED;
	return sink_put(program->sink, event, NULL);
}

static int
on_errand(const struct errand *errand, void *arg)
{
	struct program *program = arg;
	unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out =
	    frame_begin(FRAME_ERRAND_ASK, packet, sizeof(packet));
	int status;

	if (program->fetch == NULL)
		return STATUS_CLOSED;
	errand_write(errand, &out);
	status = channel_send(program->fetch, &out, NULL, 0);
	explicit_bzero(packet, sizeof(packet));
	return status;
}

static const char *
on_admission(const char *credential, void *arg)
{
	const struct program *program = arg;

	return clerk_objection(program->clerk, credential);
}

static uint64_t
on_generation(uint16_t slot, void *arg)
{
	const struct program *program = arg;

	return generation_read(program->generation, slot);
}

/* ---- the run ---- */

static void
on_tick(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval wait = { .tv_usec = TICK_MS * 1000L };
	struct program *program = arg;
	struct service_time at = now();

	(void)fd;
	(void)what;
	service_tick(program->service, at);
	if (program->phase == PHASE_ENDING &&
	    (program->ends_us <= at.monotonic_us ||
		(!service_is_busy(program->service) &&
		    sink_waiting(program->sink) == 0))) {
		stop(program, EXIT_SUCCESS);
		return;
	}
	if (event_add(program->tick, &wait) != 0)
		stop(program, EXIT_OURS);
}

/* Gives back what was minted; its last rows are waited for. */
static void
end(struct program *program)
{
	if (program->phase < PHASE_RUNNING) {
		stop(program, EXIT_SUCCESS);
		return;
	}
	if (program->phase == PHASE_ENDING)
		return;
	program->phase = PHASE_ENDING;
	program->ends_us =
	    clock_monotonic_us() + (int64_t)LIMIT_BROKER_LEAVE_MS * 1000;
	generation_bump(program->generation, 0);
	service_end(program->service, now());
	sink_flush(program->sink);
	on_tick(-1, 0, program);
}

static void
on_gateway_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct program *program = arg;

	(void)fds;
	if (program->phase != PHASE_RUNNING)
		return;
	if (frame->type == FRAME_TOKEN_ASK
		? clerk_take(program->clerk, channel, frame->body) != STATUS_OK
		: service_take(program->service, frame, now()) != STATUS_OK)
		channel_end(channel, STATUS_MALFORMED);
}

/* A gateway that is gone asks for nothing more; the parent sees it too. */
static void
on_gateway_left(struct channel *channel, int status, void *arg)
{
	(void)channel;
	(void)arg;
	if (status == STATUS_MALFORMED)
		log_error("the gateway said what it may not say");
}

static int
open_gateway(struct program *program)
{
	static const struct channel_events events = {
		.on_frame = on_gateway_frame, .on_end = on_gateway_left
	};
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_GRANT_PAGE, packet, sizeof(packet));
	int page = generation_fd(program->generation);

	program->gateway =
	    channel_new(program->loop, FD_GATEWAY, &events, program);
	if (program->gateway == NULL)
		return STATUS_NO_MEMORY;
	return channel_send(program->gateway, &out, &page, 1);
}

/* Everything of this run's is there, and its first row too. */
static void
on_begun(bool well, void *arg)
{
	struct program *program = arg;
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_READY, packet, sizeof(packet));

	if (!well) {
		fail_with(program, "the audit takes no rows");
		return;
	}
	program->phase = PHASE_RUNNING;
	tell(program, &out);
	on_tick(-1, 0, program);
}

static int
open_clerk(struct program *program, struct problem *reterr)
{
	const struct clerk_setup setup = { .catalog = program->catalog,
		.begin = &program->begin,
		.generation = program->generation,
		.sink = program->sink,
		.on_begun = on_begun,
		.arg = program };

	program->clerk = clerk_new(&setup, reterr);
	if (program->clerk == NULL)
		return STATUS_PROBLEM;
	if (clerk_introduce(program->clerk, program->gateway) != STATUS_OK)
		return problem_set(reterr, "the gateway is gone");
	return STATUS_OK;
}

static void
begin_run(struct program *program)
{
	static const struct service_events template = { .send = on_send,
		.record = on_record,
		.run_errand = on_errand,
		.objection = on_admission,
		.generation = on_generation };
	struct service_events events = template;
	struct problem problem = { .text = "" };

	events.arg = program;
	program->run = (struct mint_run){ .uid = program->begin.run,
		.principal = program->begin.principal,
		.keep = program->keep,
		.issuer = catalog_issuer(program->catalog) };
	program->service =
	    service_new(program->catalog, &program->run, &events);
	program->tick =
	    event_new(loop_base(program->loop), -1, 0, on_tick, program);
	if (program->service == NULL || program->tick == NULL ||
	    open_gateway(program) != STATUS_OK) {
		fail_with(program, "there is no memory for a broker");
		return;
	}
	program->phase = PHASE_BEGINNING;
	if (open_clerk(program, &problem) != STATUS_OK)
		fail(program, &problem);
}

/* ---- the errands ---- */

static void
on_fetch_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct program *program = arg;

	(void)fds;
	if (frame->type == FRAME_ERRAND_READY &&
	    program->phase == PHASE_SEALING && cursor_is_empty(&frame->body)) {
		begin_run(program);
		return;
	}
	if (program->phase < PHASE_RUNNING ||
	    service_answer(program->service, frame, now()) != STATUS_OK)
		channel_end(channel, STATUS_MALFORMED);
}

static void
on_fetch_left(struct channel *channel, int status, void *arg)
{
	struct program *program = arg;

	(void)channel;
	(void)status;
	if (program->phase == PHASE_SEALING)
		fail_with(program, "exeat-fetch ended early");
	else if (program->phase == PHASE_RUNNING)
		log_error("exeat-fetch ended early: no exchanges any more");
}

static int
send_endpoints(struct program *program)
{
	static unsigned char packet[LIMIT_FRAME];
	struct cursor_writer out;
	struct errand_endpoint endpoint;
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK &&
			   catalog_endpoint(program->catalog, i, &endpoint);
	     i++) {
		out =
		    frame_begin(FRAME_ERRAND_ENDPOINT, packet, sizeof(packet));
		errand_endpoint_write(&endpoint, &out);
		status = channel_send(program->fetch, &out, NULL, 0);
	}
	out = frame_begin(FRAME_ERRAND_SEAL, packet, sizeof(packet));
	if (status == STATUS_OK)
		status = channel_send(program->fetch, &out, NULL, 0);
	return status;
}

/* All secrets are there; what may be fetched is fixed before a run begins. */
static void
seal(struct program *program)
{
	static const struct channel_events events = {
		.on_frame = on_fetch_frame, .on_end = on_fetch_left
	};

	if (problems_any(&program->problems)) {
		fail_with(program, "the credentials cannot be had");
		return;
	}
	if (fcntl(FD_FETCH, F_GETFD) < 0) {
		begin_run(program);
		return;
	}
	program->phase = PHASE_SEALING;
	program->fetch = channel_new(program->loop, FD_FETCH, &events, program);
	if (program->fetch == NULL || send_endpoints(program) != STATUS_OK)
		fail_with(program, "exeat-fetch does not take its endpoints");
}

/* ---- from the parent ---- */

static bool
take_file(struct program *program, struct cursor body, struct fdpass *fds)
{
	struct problem problem = { .text = "" };
	int fd = fdpass_take(fds, 0), status;
	char *text = NULL;
	size_t length = 0;

	status = source_read_text(
	    fd, LIMIT_CREDENTIALS_BYTES, &text, &length, &problem);
	(void)close(fd);
	if (!cursor_is_empty(&body) || program->catalog != NULL) {
		free(text);
		return false;
	}
	if (status != STATUS_OK) {
		problems_add(&program->problems, &problem);
		fail_with(program, "the credential file cannot be used");
		return true;
	}
	status = catalog_load(
	    cursor_of(text, length), &program->catalog, &program->problems);
	free(text);
	if (status != STATUS_OK)
		fail_with(program, "the credential file cannot be used");
	return true;
}

static bool
take_need(struct program *program, struct cursor body, struct fdpass *fds)
{
	char name[LIMIT_CREDENTIAL_NAME + 1];
	struct problem problem = { .text = "" };

	(void)fds;
	if (brokerage_need_read(body, name) != STATUS_OK ||
	    program->catalog == NULL)
		return false;
	if (catalog_need(program->catalog, name) == STATUS_OK)
		return true;
	(void)problem_set(&problem,
	    "the policy names the credential %s, which the credential file "
	    "does not have",
	    name);
	problems_add(&program->problems, &problem);
	return true;
}

static bool
take_begin(struct program *program, struct cursor body, struct fdpass *fds)
{
	unsigned char packet[LIMIT_PATH + 64];
	struct brokerage_want want;
	size_t at = 0;

	(void)fds;
	if (brokerage_begin_read(body, &program->begin) != STATUS_OK ||
	    program->catalog == NULL)
		return false;
	log_run(program->begin.run);
	if (program->begin.mode == BROKERAGE_CHECK)
		catalog_need_all(program->catalog);
	program->phase = PHASE_GATHERING;
	while (catalog_want(program->catalog, &at, &want)) {
		struct cursor_writer out =
		    frame_begin(FRAME_BROKER_WANT, packet, sizeof(packet));

		brokerage_want_write(&want, &out);
		tell(program, &out);
		program->wanted++;
	}
	if (program->wanted == 0)
		seal(program);
	return true;
}

static void
one_less(struct program *program)
{
	if (--program->wanted == 0)
		seal(program);
}

static bool
take_have(struct program *program, struct cursor body, struct fdpass *fds)
{
	uint16_t number;
	int fd = fdpass_take(fds, 0), status = STATUS_REFUSED;

	if (brokerage_have_read(body, &number) == STATUS_OK)
		status = catalog_give(
		    program->catalog, number, fd, &program->problems);
	(void)close(fd);
	if (status == STATUS_REFUSED)
		return false;
	one_less(program);
	return true;
}

static bool
take_lack(struct program *program, struct cursor body, struct fdpass *fds)
{
	struct brokerage_lack lack;

	(void)fds;
	if (brokerage_lack_read(body, &lack) != STATUS_OK ||
	    catalog_lack(program->catalog, lack.number, &lack.problem,
		&program->problems) != STATUS_OK)
		return false;
	one_less(program);
	return true;
}

static void
tell_revoked(struct program *program, const char *text)
{
	unsigned char packet[1024];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_REVOKED, packet, sizeof(packet));

	program->revoking = false;
	cursor_put_string(&out, text);
	cursor_put_string(&out, "");
	tell(program, &out);
}

static void
on_revocation_written(struct sink_wait *wait, int64_t seq)
{
	struct program *program =
	    (struct program *)((char *)wait -
			       offsetof(struct program, revocation));

	tell_revoked(program,
	    seq > 0 ? "" : "it is revoked, but the audit takes no rows");
}

static int
record_revocation(
    struct program *program, const struct brokerage_revoke *revoke)
{
	unsigned char detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	struct json j = json_to(&out);
	struct event event = event_empty();

	json_open(&j, NULL, '{');
	json_text(&j, "by", revoke->by);
	json_close(&j, '}');
	event.kind = EVENT_ADMIN;
	event.verdict = EVENT_INFO;
	event.wait = EVENT_WAIT_DISK;
	event.ts_us = clock_wall_us();
	event.object = cursor_of_text("credential_revoke");
	event.cred = cursor_of_text(revoke->credential);
	if (cursor_written(&out))
		event.detail = cursor_of(out.bytes, out.used);
	program->revocation =
	    (struct sink_wait){ .on_accepted = on_revocation_written };
	return sink_put(program->sink, &event, &program->revocation);
}

/* First it holds, then it is written down, then it is acknowledged. */
static bool
take_revoke(struct program *program, struct cursor body, struct fdpass *fds)
{
	struct brokerage_revoke revoke;
	uint16_t slot;

	(void)fds;
	if (brokerage_revoke_read(body, &revoke) != STATUS_OK ||
	    program->revoking)
		return false;
	if (service_revoke(program->service, revoke.credential, now(), &slot) !=
	    STATUS_OK) {
		tell_revoked(program, "this run has no such credential");
		return true;
	}
	generation_bump(program->generation, slot);
	program->revoking = true;
	if (record_revocation(program, &revoke) != STATUS_OK)
		tell_revoked(
		    program, "it is revoked, but the audit takes no rows");
	return true;
}

static bool
take_stop(struct program *program, struct cursor body, struct fdpass *fds)
{
	(void)fds;
	end(program);
	return cursor_is_empty(&body);
}

/* A STOP may come at any time; the rest when its phase is there. */
static const struct message {
	uint16_t type;
	enum phase first, last;
	bool (*take)(
	    struct program *program, struct cursor body, struct fdpass *fds);
} messages[] = {
	{ FRAME_BROKER_FILE, PHASE_LOADING, PHASE_LOADING, take_file },
	{ FRAME_BROKER_NEED, PHASE_LOADING, PHASE_LOADING, take_need },
	{ FRAME_BROKER_BEGIN, PHASE_LOADING, PHASE_LOADING, take_begin },
	{ FRAME_BROKER_HAVE, PHASE_GATHERING, PHASE_GATHERING, take_have },
	{ FRAME_BROKER_LACK, PHASE_GATHERING, PHASE_GATHERING, take_lack },
	{ FRAME_BROKER_REVOKE, PHASE_RUNNING, PHASE_RUNNING, take_revoke },
	{ FRAME_BROKER_STOP, PHASE_LOADING, PHASE_ENDING, take_stop },
};

static void
on_parent_frame(struct channel *channel, const struct frame *frame,
    struct fdpass *fds, void *arg)
{
	struct program *program = arg;

	/* After a failure there is nothing more to hear. */
	if (program->exit_status != EXIT_SUCCESS)
		return;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		const struct message *message = &messages[i];

		if (message->type == frame->type &&
		    program->phase >= message->first &&
		    program->phase <= message->last &&
		    message->take(program, frame->body, fds))
			return;
	}
	channel_end(channel, STATUS_MALFORMED);
}

/* Without its parent nobody needs it. */
static void
on_parent_left(struct channel *channel, int status, void *arg)
{
	(void)channel;
	if (status == STATUS_MALFORMED)
		log_error("the parent said what it may not say");
	end(arg);
}

/* ---- start and end ---- */

static void
ignore_signals(void)
{
	static const int numbers[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &ignore, NULL);
}

static bool
prepare(struct program *program)
{
	static const struct channel_events events = {
		.on_frame = on_parent_frame, .on_end = on_parent_left
	};

	program->loop = loop_new();
	if (program->loop == NULL)
		return false;
	program->sink = sink_new(program->loop, FD_AUDIT);
	program->parent =
	    channel_new(program->loop, FD_PARENT, &events, program);
	return program->sink != NULL && program->parent != NULL &&
	       generation_make(&program->generation) == STATUS_OK;
}

static void
release(struct program *program)
{
	clerk_free(program->clerk);
	service_free(program->service);
	catalog_free(program->catalog);
	if (program->tick != NULL)
		event_free(program->tick);
	channel_free(program->fetch);
	channel_free(program->gateway);
	channel_free(program->parent);
	sink_free(program->sink);
	keep_free(program->keep);
	generation_free(program->generation);
	problems_done(&program->problems);
	loop_free(program->loop);
}

/* From here on it opens nothing but what lies in its folder, if it has one. */
static int
confine(struct program *program, int folder, struct problem *reterr)
{
	if (folder >= 0) {
		program->keep = keep_new(folder, reterr);
		if (program->keep == NULL)
			return STATUS_PROBLEM;
	}
	return confine_enter(CONFINE_BROKER, folder, reterr);
}

int
main(int argc, char **argv)
{
	struct program program = { .exit_status = EXIT_SUCCESS };
	enum log_level level = LOG_LEVEL_WARNING;
	struct problem problem = { .text = "" };
	/* Before anything of ours could take its number. */
	int folder = fcntl(FD_KEEP, F_GETFD) < 0 ? -1 : FD_KEEP;

	if (argc == 3 && strcmp(argv[1], "--log") == 0) {
		level = log_level_of(argv[2], level);
	} else if (argc != 1) {
		(void)fputs(usage, stderr);
		return EXIT_OURS;
	}
	log_begin("exeat-broker", NULL, level);
	ignore_signals();
	if (confine_private(&problem) != STATUS_OK) {
		log_error("%s", problem.text);
		return EXIT_OURS;
	}
	if (mint_prepare() != STATUS_OK || !prepare(&program)) {
		log_error("cannot begin: there is no memory");
		program.exit_status = EXIT_OURS;
	} else if (confine(&program, folder, &problem) != STATUS_OK) {
		log_error("%s", problem.text);
		program.exit_status = EXIT_OURS;
	} else if (loop_run(program.loop) != STATUS_OK) {
		program.exit_status = EXIT_OURS;
	}
	release(&program);
	return program.exit_status;
}
