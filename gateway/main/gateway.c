/*
 * exeat-gateway - the data plane of one run.
 *
 * Descriptors: 3 the parent, 4 the launcher, 5 the audit writer, 6 the broker,
 * if the run has one.  Stages:
 *   warm     open nothing that belongs to a run; fork the lookout, which is
 *            what may still read /proc when we may not
 *   load     take the layers and the order, make the run's authority
 *   confine  with the sandbox's listeners taken and before anything is read
 *            from them: no file, no program, no socket but the internet's
 *   loop     until the parent says stop, or is gone
 */
#include "gateway/audit/sink.h"
#include "gateway/control/lookout.h"
#include "gateway/control/parent.h"
#include "gateway/proc/corefile.h"
#include "gateway/proc/log.h"
#include "gateway/proc/loop.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
	FD_PARENT = 3,
	FD_HANDOFF = 4,
	FD_AUDIT = 5,
	FD_BROKER = 6,
	EXIT_OURS = 125
};

static const char usage[] =
    "usage: exeat-gateway [--log LEVEL]\n"
    "Started by `exeat run` with its channels on descriptors 3, 4 and 5;\n"
    "there is nothing to do with it by hand.  LEVEL is error, warning, info\n"
    "or debug.\n";

/* Every connection takes two: as many as we may have. */
static void
raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_warning("the limit of open files cannot be raised");
}

/* A core of ours would hold the authority's key. */
static int
confine(void)
{
	if (corefile_forbid() != STATUS_OK ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

static void
ignore_signals(void)
{
	/* Those of a terminal are the command's business, not ours. */
	static const int numbers[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		(void)sigaction(numbers[i], &ignore, NULL);
}

static int
serve(int lookout, int broker)
{
	struct parent_channels channels = { .parent = FD_PARENT,
		.handoff = FD_HANDOFF,
		.lookout = lookout,
		.broker = broker };
	/* The lookout was forked before there was a socket, and keeps none. */
	struct loop *loop = loop_new_sole();
	struct sink *sink = NULL;
	struct parent *parent = NULL;
	int code = EXIT_OURS;

	if (loop == NULL)
		goto done;
	sink = sink_new(loop, FD_AUDIT);
	if (sink == NULL)
		goto done;
	parent = parent_new(loop, sink, &channels);
	if (parent == NULL)
		goto done;
	if (loop_run(loop) == STATUS_OK)
		code = parent_exit_code(parent);
done:
	if (parent == NULL)
		log_error("cannot begin: there is no memory");
	parent_free(parent);
	sink_free(sink);
	loop_free(loop);
	return code;
}

int
main(int argc, char **argv)
{
	enum log_level level = LOG_LEVEL_WARNING;
	/* Asked before anything is opened that could get its number. */
	int broker = fcntl(FD_BROKER, F_GETFD) >= 0 ? FD_BROKER : -1;
	int lookout = -1;

	if (argc == 3 && strcmp(argv[1], "--log") == 0) {
		level = log_level_of(argv[2], level);
	} else if (argc != 1) {
		(void)fputs(usage, stderr);
		return EXIT_OURS;
	}
	log_begin("exeat-gateway", NULL, level);
	ignore_signals();
	raise_descriptors();
	if (confine() != STATUS_OK) {
		log_error("cannot give up what a gateway must not have");
		return EXIT_OURS;
	}
	if (lookout_start(&lookout) != STATUS_OK)
		log_warning("which program connects cannot be told: %s",
		    strerror(errno));
	return serve(lookout, broker);
}
