#include "gateway/launch/report.h"

#include "gateway/proc/fdpass.h"
#include "schema/cursor.h"
#include "schema/handoff.h"
#include "schema/status.h"

#include <assert.h>

/* Numbers, two strings and their lengths. */
#define REPORT_BYTES (PROBLEM_TEXT_MAX + PROBLEM_CURE_MAX + 16)

static const char *const stage_names[] = {
	[STAGE_PLAN] = "plan",
	[STAGE_LIMITS] = "limits",
	[STAGE_SOURCES] = "sources",
	[STAGE_NAMESPACES] = "namespaces",
	[STAGE_IDENTITY] = "identity",
	[STAGE_NETWORK] = "network",
	[STAGE_REDIRECT] = "redirect",
	[STAGE_LISTENERS] = "listeners",
	[STAGE_HANDOFF] = "handoff",
	[STAGE_VIEW] = "view",
	[STAGE_DEVICES] = "devices",
	[STAGE_ETC] = "etc",
	[STAGE_PROC] = "proc",
	[STAGE_WORKSPACE] = "workspace",
	[STAGE_MASKS] = "masks",
	[STAGE_TRUST] = "trust",
	[STAGE_PIVOT] = "pivot",
	[STAGE_INIT] = "init",
	[STAGE_TERMINAL] = "terminal",
	[STAGE_DIRECTORY] = "directory",
	[STAGE_PRIVILEGES] = "privileges",
	[STAGE_SYSCALLS] = "syscalls",
	[STAGE_COMMAND] = "command",
};

static_assert(sizeof(stage_names) / sizeof(stage_names[0]) == STAGE_COUNT,
    "every stage has a name");

static const unsigned char descriptors[] = {
	[REPORT_GO] = 0,
	[REPORT_TRUST] = HANDOFF_TRUST_COUNT,
	[REPORT_RUN] = 0,
	[REPORT_SIGNAL] = 0,
	[REPORT_SIGNAL_GROUP] = 0,
	[REPORT_PAUSE] = 0,
	[REPORT_LISTENERS] = REPORT_LISTENER_FDS,
	[REPORT_RECORDER] = 1,
	[REPORT_PROC] = 1,
	[REPORT_TERMINAL] = 1,
	[REPORT_HIDDEN] = 0,
	[REPORT_DEGRADED] = 0,
	[REPORT_READY] = 0,
	[REPORT_STARTED] = 0,
	[REPORT_FAILED] = 0,
	[REPORT_STOPPED] = 0,
	[REPORT_ENDED] = 0,
};

static_assert(sizeof(descriptors) == REPORT_COUNT,
    "every kind says how many descriptors it has");

const char *
stage_name(enum stage stage)
{
	return stage_names[stage];
}

int
report_send(int socket, const struct report *report, const int *fds)
{
	unsigned char packet[REPORT_BYTES];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));

	cursor_put_u8(&out, (uint8_t)report->kind);
	cursor_put_u8(&out, (uint8_t)report->stage);
	cursor_put_u32(&out, (uint32_t)report->value);
	cursor_put_string(&out, report->problem.text);
	cursor_put_string(&out, report->problem.cure);
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	return fdpass_send(
	    socket, packet, out.used, fds, descriptors[report->kind]);
}

static bool
read_report(struct cursor in, struct report *ret)
{
	uint8_t kind, stage;
	uint32_t value;

	if (!cursor_u8(&in, &kind) || kind >= REPORT_COUNT ||
	    !cursor_u8(&in, &stage) || stage >= STAGE_COUNT ||
	    !cursor_u32(&in, &value))
		return false;
	ret->kind = (enum report_kind)kind;
	ret->stage = (enum stage)stage;
	ret->value = (int32_t)value;
	return cursor_string(
		   &in, ret->problem.text, sizeof(ret->problem.text)) &&
	       cursor_string(
		   &in, ret->problem.cure, sizeof(ret->problem.cure)) &&
	       cursor_is_empty(&in);
}

int
report_receive(int socket, struct report *ret, struct fdpass *ret_fds)
{
	unsigned char packet[REPORT_BYTES];
	struct report report = { 0 };
	struct fdpass fds;
	size_t length;
	int status =
	    fdpass_receive(socket, packet, sizeof(packet), &length, &fds);

	if (status != STATUS_OK)
		return status;
	if (!read_report(cursor_of(packet, length), &report) ||
	    fds.count != descriptors[report.kind]) {
		fdpass_done(&fds);
		return STATUS_MALFORMED;
	}
	*ret = report;
	*ret_fds = fds;
	return STATUS_OK;
}
