#include "gateway/launch/outcome.h"

#include "schema/json.h"
#include "schema/status.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every hidden path at its longest, escaped. */
#define OUTCOME_BYTES 1048576

static const char *const ends[] = {
	[OUTCOME_EXITED] = "exited",
	[OUTCOME_SIGNALED] = "signaled",
	[OUTCOME_TIMEOUT] = "timeout",
	[OUTCOME_LAUNCH_FAILED] = "launch_failed",
	[OUTCOME_GATEWAY_LOST] = "gateway_lost",
	[OUTCOME_OOM] = "oom",
	[OUTCOME_LIMIT] = "limit",
	[OUTCOME_STOPPED] = "stopped",
};

static_assert(
    sizeof(ends) / sizeof(ends[0]) == OUTCOME_COUNT, "every end has a name");

void
outcome_done(struct outcome *outcome)
{
	for (size_t i = 0; i < outcome->hidden_count; i++)
		free(outcome->hidden[i]);
	for (size_t i = 0; i < outcome->degraded_count; i++)
		free(outcome->degraded[i]);
	outcome->hidden_count = 0;
	outcome->degraded_count = 0;
}

void
outcome_ended(struct outcome *outcome, int status)
{
	/* These end the command by a signal too. */
	static const int codes[OUTCOME_COUNT] = {
		[OUTCOME_TIMEOUT] = OUTCOME_CODE_TIMEOUT,
		[OUTCOME_GATEWAY_LOST] = OUTCOME_CODE_SIGNAL + SIGKILL,
		[OUTCOME_OOM] = OUTCOME_CODE_SIGNAL + SIGKILL,
		[OUTCOME_LIMIT] = OUTCOME_CODE_SIGNAL + SIGKILL,
		[OUTCOME_STOPPED] = OUTCOME_CODE_SIGNAL + SIGTERM,
	};

	if (codes[outcome->end] != 0) {
		outcome->code = codes[outcome->end];
		return;
	}
	if (WIFSIGNALED(status)) {
		outcome->end = OUTCOME_SIGNALED;
		outcome->signal = WTERMSIG(status);
		outcome->code = OUTCOME_CODE_SIGNAL + outcome->signal;
		return;
	}
	outcome->end = OUTCOME_EXITED;
	outcome->code = WEXITSTATUS(status);
}

void
outcome_failed(struct outcome *outcome, enum stage stage, int code,
    const struct problem *problem)
{
	outcome->end = OUTCOME_LAUNCH_FAILED;
	outcome->code = code;
	outcome->stage = stage;
	outcome->problem = *problem;
}

static int
add(char **list, size_t *count, size_t most, const char *text)
{
	if (*count == most)
		return STATUS_FULL;
	list[*count] = strdup(text);
	if (list[*count] == NULL)
		return STATUS_NO_MEMORY;
	(*count)++;
	return STATUS_OK;
}

int
outcome_add_hidden(struct outcome *outcome, const char *path)
{
	return add(outcome->hidden, &outcome->hidden_count, LIMIT_HIDDEN, path);
}

int
outcome_add_degraded(struct outcome *outcome, const char *text)
{
	return add(
	    outcome->degraded, &outcome->degraded_count, LIMIT_DEGRADED, text);
}

static void
put_list(struct json *j, const char *key, char *const *list, size_t count)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < count; i++)
		json_text(j, NULL, list[i]);
	json_close(j, ']');
}

static void
put_usage(struct json *j, const struct outcome *outcome)
{
	json_open(j, "usage", '{');
	json_number(j, "cpu_ms", (int64_t)outcome->cpu_ms);
	json_number(j, "mem_peak", (int64_t)outcome->memory_peak);
	json_number(j, "procs_peak", (int64_t)outcome->processes_peak);
	json_number(j, "memory_kills", (int64_t)outcome->memory_kills);
	json_close(j, '}');
}

static void
put_packets(struct json *j, const struct outcome *outcome)
{
	if (!outcome->packets_known)
		return;
	json_open(j, "packets_refused", '{');
	json_number(j, "pings", (int64_t)outcome->packets.pings);
	json_number(j, "multicast", (int64_t)outcome->packets.multicast);
	json_number(j, "others", (int64_t)outcome->packets.others);
	json_close(j, '}');
}

static void
put_outcome(struct json *j, const struct outcome *outcome)
{
	json_open(j, NULL, '{');
	json_text(j, "end", ends[outcome->end]);
	json_number(j, "code", outcome->code);
	if (outcome->signal == 0)
		json_none(j, "signal");
	else
		json_number(j, "signal", outcome->signal);
	if (outcome->end == OUTCOME_LAUNCH_FAILED) {
		json_text(j, "stage", stage_name(outcome->stage));
		json_text(j, "error", outcome->problem.text);
		json_text(j, "cure", outcome->problem.cure);
	}
	json_number(j, "wall_ms", outcome->wall_ms);
	put_usage(j, outcome);
	json_number(j, "execs", (int64_t)outcome->execs);
	put_packets(j, outcome);
	json_text(j, "network_mode", "tproxy");
	put_list(j, "hidden_files", outcome->hidden, outcome->hidden_count);
	put_list(j, "degraded", outcome->degraded, outcome->degraded_count);
	json_close(j, '}');
	cursor_put_u8(j->out, '\n');
}

int
outcome_write(const struct outcome *outcome, int fd)
{
	unsigned char *bytes = malloc(OUTCOME_BYTES);
	struct cursor_writer out = cursor_writer_of(bytes, OUTCOME_BYTES);
	struct json j = json_to(&out);
	int status = STATUS_OK;

	if (bytes == NULL)
		return STATUS_NO_MEMORY;
	put_outcome(&j, outcome);
	if (!cursor_written(&out))
		status = STATUS_TOO_LONG;
	else if (ftruncate(fd, 0) != 0 ||
		 pwrite(fd, bytes, out.used, 0) != (ssize_t)out.used)
		status = STATUS_SYSTEM;
	free(bytes);
	return status;
}
