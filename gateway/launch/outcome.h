/*
 * outcome - how a run ended: the exit code, and the result for programs.
 *
 * The codes are those of product.md; where a command's own code looks like
 * one of ours, the result tells them apart.
 */
#ifndef GATEWAY_LAUNCH_OUTCOME_H
#define GATEWAY_LAUNCH_OUTCOME_H

#include "gateway/launch/redirect.h"
#include "gateway/launch/report.h"
#include "schema/limits.h"

#include <stddef.h>
#include <stdint.h>

enum outcome_end {
	OUTCOME_EXITED,
	OUTCOME_SIGNALED,
	OUTCOME_TIMEOUT,
	OUTCOME_LAUNCH_FAILED,
	OUTCOME_GATEWAY_LOST,
	OUTCOME_OOM, /* the memory limit */
	OUTCOME_LIMIT, /* another one, that a look kept */
	OUTCOME_STOPPED, /* somebody said exeat stop */
	OUTCOME_COUNT
};

/* Our own exit codes. */
#define OUTCOME_CODE_TIMEOUT 124
#define OUTCOME_CODE_FAILED 125
#define OUTCOME_CODE_NOT_EXECUTABLE 126
#define OUTCOME_CODE_NOT_FOUND 127
#define OUTCOME_CODE_SIGNAL 128 /* plus the signal */

struct outcome {
	enum outcome_end end;
	int code, signal; /* signal is 0 when none ended it */
	enum stage stage; /* of a failed launch */
	struct problem problem;
	int64_t wall_ms;
	uint64_t cpu_ms, memory_peak, processes_peak; /* 0: not known */
	uint64_t memory_kills; /* by the kernel */
	uint64_t execs; /* that were seen */
	bool packets_known;
	struct redirect_counts packets; /* that were refused */
	/* Owned texts. */
	char *hidden[LIMIT_HIDDEN];
	size_t hidden_count;
	char *degraded[LIMIT_DEGRADED];
	size_t degraded_count;
};

void outcome_done(struct outcome *outcome);

/* From what waitpid() says of the command. */
void outcome_ended(struct outcome *outcome, int status);

/* A launch that failed; code is 125, 126 or 127. */
void outcome_failed(struct outcome *outcome, enum stage stage, int code,
    const struct problem *problem);

/* STATUS_FULL when there are too many of them. */
int outcome_add_hidden(struct outcome *outcome, const char *path) MUST_CHECK;
int outcome_add_degraded(struct outcome *outcome, const char *text) MUST_CHECK;

/* One JSON object into the file. */
int outcome_write(const struct outcome *outcome, int fd) MUST_CHECK;

#endif
