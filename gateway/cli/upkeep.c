#include "gateway/cli/upkeep.h"

#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "gateway/cli/abspath.h"
#include "gateway/cli/auditor.h"
#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "gateway/cli/program.h"
#include "gateway/proc/fdpass.h"
#include "schema/chore.h"
#include "schema/frame.h"
#include "schema/status.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PACKET = 2048
};

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return COMMAND_FAILED;
}

/* ---- asking the writer ---- */

static bool
is_there(const char *audit)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	struct problem problem;
	bool there = shelf != NULL &&
		     shelf_read(audit, shelf, &problem) == STATUS_OK &&
		     shelf->count > 0;

	free(shelf);
	return there;
}

/* The writer of the audit, found or started, by a path that is its own. */
static int
open_writer(const char *audit, int *ret_fd, struct problem *reterr)
{
	struct program program;
	struct abspath place;
	int status = abspath_of_new(audit, &place, reterr);

	/* It would begin another audit there. */
	if (status == STATUS_OK && !is_there(place.path))
		return problem_set(reterr, "there is no audit %s", audit);
	if (status == STATUS_OK)
		status = program_find("exeat-audit", &program, reterr);
	return status == STATUS_OK
		   ? auditor_connect(place.path, &program, ret_fd, reterr)
		   : status;
}

/* Waits as long as it takes: a seal builds indexes for a minute. */
static int
await_done(int fd, struct problem *reterr)
{
	unsigned char packet[PACKET];
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct fdpass fds = { .count = 0 };
	struct frame frame = { .type = 0 };
	struct problem problem;
	size_t length = 0;
	int status;

	while (poll(&wait, 1, -1) < 0)
		if (errno != EINTR)
			return problem_errno(reterr, "cannot wait");
	status = fdpass_receive(fd, packet, sizeof(packet), &length, &fds);
	fdpass_done(&fds);
	/* It may say first that it takes no rows. */
	if (status == STATUS_OK)
		status = frame_parse(packet, length, &frame);
	if (status == STATUS_OK && frame.type == FRAME_AUDIT_STATE)
		return problem_set(
		    reterr, "the audit takes no rows now; is its disk full?");
	if (status != STATUS_OK || frame.type != FRAME_AUDIT_DONE ||
	    chore_done_read(frame.body, &problem) != STATUS_OK)
		return problem_set(
		    reterr, "the audit writer ended without an answer");
	if (problem.text[0] == '\0')
		return STATUS_OK;
	*reterr = problem;
	return STATUS_PROBLEM;
}

/* The account that asks stands in the row. */
static int
ask(int fd, const struct inquiry *inquiry, struct chore *chore,
    struct problem *reterr)
{
	unsigned char packet[PACKET];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_CHORE, packet, sizeof(packet));

	if (snprintf(
		chore->by, sizeof(chore->by), "%s", inquiry->settings.user) < 0)
		chore->by[0] = '\0';
	chore_write(chore, &out);
	if (!cursor_written(&out) ||
	    fdpass_send(fd, out.bytes, out.used, NULL, 0) != STATUS_OK)
		return problem_set(reterr, "the audit writer does not listen");
	return await_done(fd, reterr);
}

/* One chore and no more; tells when it is done. */
static int
ask_once(const struct inquiry *inquiry, struct chore *chore, const char *told)
{
	struct problem problem = { .text = "" };
	int fd = -1;
	int status = open_writer(inquiry->database, &fd, &problem);

	if (status == STATUS_OK)
		status = ask(fd, inquiry, chore, &problem);
	if (fd >= 0)
		(void)close(fd);
	if (status != STATUS_OK)
		return complain(&problem);
	return puts(told) < 0 ? COMMAND_FAILED : COMMAND_OK;
}

int
upkeep_seal(struct inquiry *inquiry)
{
	struct chore chore = { .kind = CHORE_SEAL };

	return ask_once(inquiry, &chore,
	    "the next segment is begun, and the others are sealed");
}

static int
set_held(const struct inquiry *inquiry, enum chore_kind kind, const char *told)
{
	struct chore chore = { .kind = kind };
	struct problem problem;

	if (inquiry->word == NULL || inquiry->word[0] == '\0' ||
	    strlen(inquiry->word) >= sizeof(chore.run)) {
		(void)problem_set(&problem, "name one run");
		return complain(&problem);
	}
	memcpy(chore.run, inquiry->word, strlen(inquiry->word) + 1);
	return ask_once(inquiry, &chore, told);
}

int
upkeep_hold(struct inquiry *inquiry)
{
	return set_held(
	    inquiry, CHORE_HOLD, "no segment of this run will be pruned");
}

int
upkeep_release(struct inquiry *inquiry)
{
	return set_held(
	    inquiry, CHORE_RELEASE, "its segments may be pruned again");
}

/* ---- prune ---- */

struct pruning {
	int fd;
	const struct inquiry *inquiry;
	int64_t pruned, held;
	struct problem problem; /* what ended it */
};

/* All but the newest, oldest first: its number, and a run that is held. */
static const char candidates[] =
    "SELECT s.no, (SELECT uid FROM run r WHERE r.held = 1 AND s.no BETWEEN "
    "r.first_segment AND r.last_segment LIMIT 1) AS held FROM segment s "
    "WHERE s.state IN ('sealed', 'sealing') AND s.last_us < :before "
    "AND s.no <= (SELECT max(no) FROM segment) - :keep ORDER BY s.no";

static bool
on_candidate(const struct query_cell *cells, size_t count, void *arg)
{
	struct pruning *pruning = arg;
	struct chore chore = { .kind = CHORE_PRUNE };

	if (count != 2)
		return false;
	chore.segment = cells[0].number;
	if (cells[1].type == QUERY_TEXT) {
		(void)printf("segment %" PRId64 " stays: run %.*s is held\n",
		    chore.segment, (int)cells[1].text.left,
		    (const char *)cells[1].text.at);
		pruning->held++;
		return true;
	}
	if (!pruning->inquiry->dry_run &&
	    ask(pruning->fd, pruning->inquiry, &chore, &pruning->problem) !=
		STATUS_OK)
		return false;
	(void)printf("segment %" PRId64 " %s\n", chore.segment,
	    pruning->inquiry->dry_run ? "would be pruned" : "is pruned");
	pruning->pruned++;
	return true;
}

static int
prune(struct pruning *pruning)
{
	const struct inquiry *inquiry = pruning->inquiry;
	struct query_value list[] = {
		{ .name = "before",
		    .is_number = true,
		    .number = inquiry->before_us },
		{ .name = "keep", .is_number = true, .number = inquiry->keep },
	};
	const struct query_values values = { list, 2 };
	const struct query_reader reader = { NULL, on_candidate, pruning };
	struct query *rollup;
	char path[SHELF_PATH];
	bool cut;
	int status =
	    shelf_beside(inquiry->database, "rollup", path, &pruning->problem);

	if (status == STATUS_OK)
		status = query_open_file(path, &rollup, &pruning->problem);
	if (status != STATUS_OK)
		return status;
	status = query_run(
	    rollup, candidates, &values, &reader, &cut, &pruning->problem);
	query_close(rollup);
	if (status == STATUS_OK && pruning->problem.text[0] != '\0')
		status = STATUS_PROBLEM;
	return status;
}

int
upkeep_prune(struct inquiry *inquiry)
{
	struct pruning pruning = { .fd = -1, .inquiry = inquiry };
	struct chore tend = { .kind = CHORE_TEND };
	int status;

	if (inquiry->before_us == 0 && inquiry->keep == 0) {
		(void)problem_set(&pruning.problem,
		    "say what may go: --older-than AGE or --keep SEGMENTS");
		return complain(&pruning.problem);
	}
	if (inquiry->before_us == 0)
		inquiry->before_us = INT64_MAX;
	status = open_writer(inquiry->database, &pruning.fd, &pruning.problem);
	/* Holds of a moment ago count. */
	if (status == STATUS_OK)
		status = ask(pruning.fd, inquiry, &tend, &pruning.problem);
	if (status == STATUS_OK)
		status = prune(&pruning);
	if (pruning.fd >= 0)
		(void)close(pruning.fd);
	if (status != STATUS_OK)
		return complain(&pruning.problem);
	if (pruning.pruned + pruning.held == 0)
		(void)puts("there is nothing to prune");
	return fflush(stdout) == 0 ? COMMAND_OK : COMMAND_FAILED;
}
