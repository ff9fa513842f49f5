/*
 * exeat-fetch - the broker's outbound HTTPS: a network, no keys.
 *
 * Started by `exeat run` with the broker's channel as descriptor 3.  In order:
 *   open     no dumps, no new privileges; read the machine's roots
 *   list     the broker names every endpoint there will ever be
 *   confine  it seals the list: from here on no file is opened, no program
 *            run, and no socket made but those of the internet
 *   serve    one errand after another, until the broker is gone
 *
 * What is freed is overwritten, in libcurl and OpenSSL too: tokens pass
 * through here.
 */
#include "broker/fetch/endpoints.h"
#include "broker/fetch/https.h"
#include "gateway/net/resolve.h"
#include "gateway/net/textfile.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/confine.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MACHINE_ROOTS "/etc/ssl/certs/ca-certificates.crt"

enum {
	FD_BROKER = 3,
	OVERWRITE_WITH = 0x5a
};

struct fetch {
	struct loop *loop;
	struct channel *channel;
	struct resolver *resolver;
	struct https *https;
	struct endpoints endpoints;
	char *roots;
	int exit_status;
};

static void
end(struct fetch *fetch, const char *why)
{
	log_error("%s", why);
	fetch->exit_status = EXIT_FAILURE;
	channel_end(fetch->channel, STATUS_MALFORMED);
}

static void
on_answer(const struct errand_answer *answer, void *arg)
{
	static unsigned char packet[LIMIT_FRAME];
	struct fetch *fetch = arg;
	struct cursor_writer out =
	    frame_begin(FRAME_ERRAND_ANSWER, packet, sizeof(packet));

	errand_answer_write(answer, &out);
	if (channel_send(fetch->channel, &out, NULL, 0) != STATUS_OK)
		end(fetch, "the broker takes no answers");
	explicit_bzero(packet, sizeof(packet));
}

static void
add_endpoint(struct fetch *fetch, struct cursor body)
{
	struct errand_endpoint endpoint;
	int status = errand_endpoint_read(body, &endpoint);

	if (status == STATUS_OK)
		status = endpoints_add(&fetch->endpoints, &endpoint);
	if (status != STATUS_OK)
		end(fetch, "the broker named an endpoint that is none");
}

/* The list is whole: give up what only making it needed. */
static void
seal(struct fetch *fetch)
{
	static unsigned char packet[64];
	struct problem problem = { .text = "" };
	struct cursor_writer out =
	    frame_begin(FRAME_ERRAND_READY, packet, sizeof(packet));

	if (fetch->endpoints.sealed) {
		end(fetch, "the broker sealed its list twice");
		return;
	}
	endpoints_seal(&fetch->endpoints);
	if (confine_enter(CONFINE_FETCH, -1, &problem) != STATUS_OK) {
		end(fetch, problem.text);
		return;
	}
	if (channel_send(fetch->channel, &out, NULL, 0) != STATUS_OK)
		end(fetch, "the broker takes no answers");
}

static void
ask(struct fetch *fetch, struct cursor body)
{
	struct errand errand;
	int status = errand_read(body, &errand);

	if (status == STATUS_OK)
		status = https_start(fetch->https, &errand);
	if (status == STATUS_NO_MEMORY) {
		struct errand_answer answer = { .number = errand.number,
			.end = ERRAND_OVERLOADED };

		on_answer(&answer, fetch);
	} else if (status != STATUS_OK) {
		end(fetch, "the broker asked for what is no errand");
	}
}

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	struct fetch *fetch = arg;

	(void)channel;
	(void)fds;
	if (frame->type == FRAME_ERRAND_ENDPOINT)
		add_endpoint(fetch, frame->body);
	else if (frame->type == FRAME_ERRAND_SEAL && frame->body.left == 0)
		seal(fetch);
	else if (frame->type == FRAME_ERRAND_ASK)
		ask(fetch, frame->body);
	else
		end(fetch, "the broker sent a frame that is not for us");
}

static void
on_end(struct channel *channel, int status, void *arg)
{
	struct fetch *fetch = arg;

	(void)channel;
	if (status != STATUS_CLOSED)
		fetch->exit_status = EXIT_FAILURE;
	loop_stop(fetch->loop);
}

static const struct channel_events channel_events = {
	.on_frame = on_frame,
	.on_end = on_end,
};

static int
begin(struct fetch *fetch, struct problem *reterr)
{
	struct https_setting setting = { .endpoints = &fetch->endpoints,
		.on_answer = on_answer,
		.arg = fetch };
	size_t length;
	int status = textfile_read(
	    MACHINE_ROOTS, LIMIT_ROOTS_BYTES, &fetch->roots, &length, reterr);

	if (status != STATUS_OK)
		return status;
	fetch->loop = loop_new();
	if (fetch->loop == NULL)
		return problem_set(reterr, "no memory for a loop");
	setting.base = loop_base(fetch->loop);
	fetch->resolver = resolver_new(setting.base, NULL, NULL, reterr);
	if (fetch->resolver == NULL)
		return STATUS_PROBLEM;
	setting.resolver = fetch->resolver;
	setting.roots = cursor_of(fetch->roots, length);
	fetch->https = https_new(&setting, reterr);
	if (fetch->https == NULL)
		return STATUS_PROBLEM;
	fetch->channel =
	    channel_new(fetch->loop, FD_BROKER, &channel_events, fetch);
	if (fetch->channel == NULL)
		return problem_set(reterr, "no memory for a channel");
	return STATUS_OK;
}

static bool
prepare(struct problem *reterr)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	/* A sanitizer brings an allocator that does so by itself. */
	(void)mallopt(M_PERTURB, OVERWRITE_WITH);
	return confine_private(reterr) == STATUS_OK &&
	       sigaction(SIGPIPE, &ignore, NULL) == 0 &&
	       sigaction(SIGINT, &ignore, NULL) == 0 &&
	       sigaction(SIGHUP, &ignore, NULL) == 0 &&
	       sigaction(SIGQUIT, &ignore, NULL) == 0;
}

int
main(int argc, char **argv)
{
	static struct fetch fetch;
	struct problem problem = { .text = "" };

	(void)argv;
	log_begin("exeat-fetch", NULL, LOG_LEVEL_WARNING);
	if (argc != 1) {
		log_error("started by `exeat run`, with a broker as "
			  "descriptor 3; there is nothing to do with it by "
			  "hand");
		return EXIT_FAILURE;
	}
	if (!prepare(&problem)) {
		log_error("cannot give up what exeat-fetch must not have");
		return EXIT_FAILURE;
	}
	if (begin(&fetch, &problem) != STATUS_OK) {
		log_error("%s", problem.text);
		fetch.exit_status = EXIT_FAILURE;
	} else if (loop_run(fetch.loop) != STATUS_OK) {
		fetch.exit_status = EXIT_FAILURE;
	}
	https_free(fetch.https);
	channel_free(fetch.channel);
	resolver_free(fetch.resolver);
	if (fetch.loop != NULL)
		loop_settle(fetch.loop);
	loop_free(fetch.loop);
	endpoints_done(&fetch.endpoints);
	free(fetch.roots);
	return fetch.exit_status;
}
