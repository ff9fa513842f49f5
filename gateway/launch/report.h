/*
 * report - what the launcher outside and its processes inside tell each other
 * while a sandbox is built and runs.
 *
 * One SOCK_SEQPACKET pair joins them; a report is one packet.  Both ends are
 * this program, yet the inside is held to the same rules as any peer: a
 * report of an unknown kind, or with other descriptors than its kind has, is
 * STATUS_MALFORMED and ends the run.
 */
#ifndef GATEWAY_LAUNCH_REPORT_H
#define GATEWAY_LAUNCH_REPORT_H

#include "schema/attr.h"
#include "schema/problem.h"

#include <stdint.h>

struct fdpass;

/* The steps of a launch, as they are named to people. */
enum stage {
	STAGE_PLAN,
	STAGE_LIMITS,
	STAGE_SOURCES,
	STAGE_NAMESPACES,
	STAGE_IDENTITY,
	STAGE_NETWORK,
	STAGE_REDIRECT,
	STAGE_LISTENERS,
	STAGE_HANDOFF,
	STAGE_VIEW,
	STAGE_DEVICES,
	STAGE_ETC,
	STAGE_PROC,
	STAGE_WORKSPACE,
	STAGE_MASKS,
	STAGE_TRUST,
	STAGE_PIVOT,
	STAGE_INIT,
	STAGE_TERMINAL,
	STAGE_DIRECTORY,
	STAGE_PRIVILEGES,
	STAGE_SYSCALLS,
	STAGE_COMMAND,
	STAGE_COUNT
};

const char *stage_name(enum stage stage);

enum report_kind {
	/* to the inside */
	REPORT_GO, /* the ids are mapped */
	REPORT_TRUST, /* HANDOFF_TRUST_COUNT descriptors */
	REPORT_RUN, /* the command may be executed */
	REPORT_SIGNAL, /* value: the number, for the command */
	REPORT_SIGNAL_GROUP, /* the same, for its process group */
	REPORT_PAUSE, /* stop all others, or with value 0 let them go on */
	/* to the outside */
	REPORT_LISTENERS, /* HANDOFF_FD_COUNT descriptors, and a netlink */
	REPORT_RECORDER, /* one descriptor: notifications of its filter */
	REPORT_PROC, /* one descriptor: its /proc */
	REPORT_TERMINAL, /* one descriptor: the master of its terminal */
	REPORT_HIDDEN, /* text: a file of the workspace that is not shown */
	REPORT_DEGRADED, /* text: what is missing, in a sentence */
	REPORT_READY, /* all is built; the command waits for REPORT_RUN */
	REPORT_STARTED, /* the command is about to be executed */
	REPORT_FAILED, /* stage, value: exit code, problem */
	REPORT_STOPPED, /* the command was stopped; value: by which signal */
	REPORT_ENDED, /* value: as waitpid() has it */
	REPORT_COUNT
};

/* Those of the offer, and one of NETLINK_NETFILTER for redirect_count(). */
#define REPORT_LISTENER_FDS (HANDOFF_FD_COUNT + 1)

struct report {
	enum report_kind kind;
	enum stage stage;
	int32_t value;
	struct problem problem; /* text and cure only */
};

/* The descriptors stay the caller's. */
int report_send(int socket, const struct report *report, const int *fds)
    MUST_CHECK;

/* Statuses as fdpass_receive(); *ret_fds has what the kind calls for. */
int report_receive(int socket, struct report *ret, struct fdpass *ret_fds)
    MUST_CHECK;

#endif
