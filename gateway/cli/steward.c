#include "gateway/cli/steward.h"

#include "gateway/cli/credfile.h"
#include "gateway/cli/needs.h"
#include "gateway/cli/program.h"
#include "gateway/cli/provision.h"
#include "gateway/cli/sibling.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/fd.h"
#include "gateway/proc/fdpass.h"
#include "gateway/proc/loop.h"
#include "gateway/proc/spawn.h"
#include "schema/status.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct steward {
	struct steward_order order;
	struct provision provision;
	struct channel *channel;
	struct sibling broker, fetch;
	struct problems problems;
	bool ready, stopping, failed;
	/* Of the revocation that is under way; NULL: there is none. */
	void (*on_revoked)(const struct problem *problem, void *arg);
	void *revoker;
};

/* ---- frames ---- */

static void
fail(struct steward *steward, const struct problem *problem)
{
	if (steward->failed || steward->stopping)
		return;
	steward->failed = true;
	steward->order.on_failed(
	    &steward->problems, problem, steward->order.arg);
}

static void
fail_with(struct steward *steward, const char *text)
{
	struct problem problem = { .text = "" };

	(void)problem_set(&problem, "%s", text);
	fail(steward, &problem);
}

static bool
take_want(struct steward *steward, struct cursor body)
{
	unsigned char packet[1024];
	struct cursor_writer out;
	struct brokerage_want want;
	struct brokerage_lack lack = { .number = 0 };
	int fd = -1, status;

	if (brokerage_want_read(body, &want) != STATUS_OK)
		return false;
	if (provision_get(&steward->provision, &want, &fd, &lack.problem) ==
	    STATUS_OK) {
		out = frame_begin(FRAME_BROKER_HAVE, packet, sizeof(packet));
		brokerage_have_write(want.number, &out);
		status = channel_send(steward->channel, &out, &fd, 1);
		(void)close(fd);
		return status == STATUS_OK;
	}
	lack.number = want.number;
	out = frame_begin(FRAME_BROKER_LACK, packet, sizeof(packet));
	brokerage_lack_write(&lack, &out);
	return channel_send(steward->channel, &out, NULL, 0) == STATUS_OK;
}

static bool
take_problem(struct steward *steward, struct cursor body)
{
	struct problem problem;

	if (brokerage_problem_read(body, &problem) != STATUS_OK)
		return false;
	problems_add(&steward->problems, &problem);
	return true;
}

static bool
take_ready(struct steward *steward, struct cursor body)
{
	if (steward->ready || !cursor_is_empty(&body))
		return false;
	steward->ready = true;
	steward->order.on_ready(steward->order.arg);
	return true;
}

static bool
take_failed(struct steward *steward, struct cursor body)
{
	struct problem problem = { .text = "" };

	if (!cursor_string(&body, problem.text, sizeof(problem.text)) ||
	    !cursor_string(&body, problem.cure, sizeof(problem.cure)) ||
	    !cursor_is_empty(&body))
		return false;
	fail(steward, &problem);
	return true;
}

static void
end_revocation(struct steward *steward, const struct problem *problem)
{
	void (*on_end)(const struct problem *problem, void *arg) =
	    steward->on_revoked;

	steward->on_revoked = NULL;
	if (on_end != NULL)
		on_end(problem, steward->revoker);
}

static bool
take_revoked(struct steward *steward, struct cursor body)
{
	struct problem problem = { .text = "" };

	if (steward->on_revoked == NULL ||
	    !cursor_string(&body, problem.text, sizeof(problem.text)) ||
	    !cursor_string(&body, problem.cure, sizeof(problem.cure)) ||
	    !cursor_is_empty(&body))
		return false;
	end_revocation(steward, problem.text[0] == '\0' ? NULL : &problem);
	return true;
}

static const struct {
	uint16_t type;
	bool (*take)(struct steward *steward, struct cursor body);
} messages[] = {
	{ FRAME_BROKER_WANT, take_want },
	{ FRAME_BROKER_PROBLEM, take_problem },
	{ FRAME_BROKER_READY, take_ready },
	{ FRAME_BROKER_FAILED, take_failed },
	{ FRAME_BROKER_REVOKED, take_revoked },
};

static void
on_frame(struct channel *channel, const struct frame *frame, struct fdpass *fds,
    void *arg)
{
	(void)fds;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].type == frame->type &&
		    messages[i].take(arg, frame->body))
			return;
	channel_end(channel, STATUS_MALFORMED);
}

static void
on_left(struct channel *channel, int status, void *arg)
{
	struct problem problem = { .text = "" };

	(void)channel;
	(void)problem_set(&problem, "the broker has ended");
	end_revocation(arg, &problem);
	if (status == STATUS_MALFORMED)
		fail_with(arg, "the broker said what it may not say");
	else
		fail_with(arg, "the broker ended early");
}

static const struct channel_events events = {
	.on_frame = on_frame,
	.on_end = on_left,
};

static void
on_ended(void *arg)
{
	struct steward *steward = arg;

	steward->order.on_ended(steward->order.arg);
}

/* The broker sees it too, and says what that means. */
static void
on_fetch_ended(void *arg)
{
	(void)arg;
}

/* ---- start and end ---- */

/* One program whose descriptors from 3 on are these. */
static int
start(struct steward *steward, struct sibling *sibling, const char *name,
    const int *fds, size_t count, struct problem *reterr)
{
	struct program program;
	int status = program_find(name, &program, reterr);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* What an issuer said is in the broker's words, never in a log. */
	const char *level =
	    sibling == &steward->fetch ? NULL : program_log_level();
	const char *argv[] = { name, level == NULL ? NULL : "--log", level,
		NULL };
	struct spawn spawn = { .path = program.path,
		.argv = argv,
		.envp = program_environment,
		.fds = { null, null, STDERR_FILENO },
		.count = 3,
		.own_session = true };

	for (size_t i = 0; i < count; i++)
		spawn.fds[spawn.count++] = fds[i];
	if (status == STATUS_OK && null < 0)
		status = problem_errno(reterr, "cannot open /dev/null");
	if (status == STATUS_OK)
		status =
		    sibling_start(sibling, steward->order.loop, &spawn, reterr);
	if (null >= 0)
		(void)close(null);
	return status;
}

/* A broker that has nothing to keep gets no folder. */
static int
open_kept(
    const struct steward *steward, int *ret_folder, struct problem *reterr)
{
	const struct steward_order *order = &steward->order;
	json_t *root = order->kept == NULL ? NULL : credfile_load(order->file);
	bool keeps =
	    credfile_keeps(root, order->task == NULL ? NULL : order->needs);

	json_decref(root);
	if (!keeps)
		return STATUS_OK;
	return provision_folder(
	    &steward->provision, order->kept, ret_folder, reterr);
}

/* Both, with a channel between them that we do not keep. */
static int
start_both(struct steward *steward, int end, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int kept = -1;
	int errands[2], status = open_kept(steward, &kept, reterr);
	int fds[] = { end, steward->order.gateway, steward->order.audit, -1,
		kept };

	if (status != STATUS_OK)
		return status;
	if (fdpass_pair(errands) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	fds[3] = errands[0];
	status = start(steward, &steward->broker, "exeat-broker", fds,
	    kept < 0 ? 4 : 5, reterr);
	if (status == STATUS_OK)
		status = start(steward, &steward->fetch, "exeat-fetch",
		    &errands[1], 1, reterr);
	(void)close(errands[0]);
	(void)close(errands[1]);
	return status;
}

static int
tell_file(struct steward *steward)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_FILE, packet, sizeof(packet));

	return channel_send(steward->channel, &out, &steward->provision.fd, 1);
}

static int
tell_needs(struct steward *steward)
{
	const struct needs *needs = steward->order.needs;
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < needs->count; i++) {
		unsigned char packet[LIMIT_CREDENTIAL_NAME + 16];
		struct cursor_writer out =
		    frame_begin(FRAME_BROKER_NEED, packet, sizeof(packet));

		brokerage_need_write(needs->names[i], &out);
		status = channel_send(steward->channel, &out, NULL, 0);
	}
	return status;
}

static int
tell_begin(struct steward *steward)
{
	const struct steward_order *order = &steward->order;
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_BEGIN, packet, sizeof(packet));
	struct brokerage_begin begin = {
		.mode = order->task == NULL ? BROKERAGE_CHECK : BROKERAGE_RUN
	};

	memcpy(begin.run, order->name->uid, sizeof(begin.run));
	memcpy(begin.id, order->name->id, sizeof(begin.id));
	if (order->identity != NULL &&
	    strlen(order->identity) < sizeof(begin.identity))
		memcpy(begin.identity, order->identity,
		    strlen(order->identity) + 1);
	if (strlen(order->principal) < sizeof(begin.principal))
		memcpy(begin.principal, order->principal,
		    strlen(order->principal) + 1);
	brokerage_begin_write(&begin, &out);
	return channel_send(steward->channel, &out, NULL, 0);
}

static int
begin(struct steward *steward, struct problem *reterr)
{
	int pair[2], status;

	if (fdpass_pair(pair) != STATUS_OK)
		return problem_errno(reterr, "cannot make a channel");
	status = start_both(steward, pair[1], reterr);
	(void)close(pair[1]);
	steward->channel =
	    channel_new(steward->order.loop, pair[0], &events, steward);
	if (status != STATUS_OK)
		return status;
	if (steward->channel == NULL || tell_file(steward) != STATUS_OK ||
	    tell_needs(steward) != STATUS_OK ||
	    tell_begin(steward) != STATUS_OK)
		return problem_set(
		    reterr, "the broker does not take its order");
	return STATUS_OK;
}

int
steward_new(const struct steward_order *order, struct steward **ret,
    struct problem *reterr)
{
	struct steward *steward = calloc(1, sizeof(*steward));
	int status;

	if (steward == NULL)
		return problem_set(reterr, "there is no memory for a broker");
	steward->order = *order;
	sibling_init(&steward->broker);
	sibling_init(&steward->fetch);
	steward->broker.on_ended = on_ended;
	steward->fetch.on_ended = on_fetch_ended;
	steward->broker.arg = steward->fetch.arg = steward;
	status = provision_open(
	    &steward->provision, order->file, order->task, reterr);
	if (status == STATUS_OK)
		status = begin(steward, reterr);
	if (status != STATUS_OK) {
		steward_kill(steward);
		steward_free(steward);
		return status;
	}
	*ret = steward;
	return STATUS_OK;
}

int
steward_revoke(struct steward *steward, const char *credential, const char *by,
    void (*on_end)(const struct problem *problem, void *arg), void *arg)
{
	unsigned char packet[512];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_REVOKE, packet, sizeof(packet));
	struct brokerage_revoke revoke = { .by = "" };

	if (steward->on_revoked != NULL || !steward->ready)
		return STATUS_AGAIN;
	if (strlen(credential) >= sizeof(revoke.credential) ||
	    strlen(by) >= sizeof(revoke.by))
		return STATUS_TOO_LONG;
	memcpy(revoke.credential, credential, strlen(credential) + 1);
	memcpy(revoke.by, by, strlen(by) + 1);
	brokerage_revoke_write(&revoke, &out);
	if (channel_send(steward->channel, &out, NULL, 0) != STATUS_OK)
		return STATUS_CLOSED;
	steward->on_revoked = on_end;
	steward->revoker = arg;
	return STATUS_OK;
}

void
steward_stop(struct steward *steward)
{
	unsigned char packet[8];
	struct cursor_writer out =
	    frame_begin(FRAME_BROKER_STOP, packet, sizeof(packet));

	steward->stopping = true;
	/* One that has ended needs no order. */
	(void)!channel_send(steward->channel, &out, NULL, 0);
}

void
steward_kill(struct steward *steward)
{
	sibling_signal(&steward->broker, SIGKILL);
	sibling_signal(&steward->fetch, SIGKILL);
}

bool
steward_has_ended(const struct steward *steward)
{
	return !steward->broker.runs;
}

void
steward_free(struct steward *steward)
{
	if (steward == NULL)
		return;
	channel_free(steward->channel);
	sibling_done(&steward->broker);
	sibling_done(&steward->fetch);
	provision_done(&steward->provision);
	problems_done(&steward->problems);
	free(steward);
}
