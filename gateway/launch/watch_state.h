/*
 * watch_state - what the files of watch share, and nobody else may know.
 *
 * What ends the sandbox goes through watch_end().
 */
#ifndef GATEWAY_LAUNCH_WATCH_STATE_H
#define GATEWAY_LAUNCH_WATCH_STATE_H

#include "gateway/launch/bounds.h"
#include "gateway/launch/enter.h"
#include "gateway/launch/report.h"

#include <stdbool.h>
#include <stdint.h>

struct event;
struct execlog;
struct loop;
struct outcome;
struct pipes;
struct plan;
struct problem;
struct serve;
struct terminal;

enum watch_state {
	WATCH_BUILDING, /* until the command starts */
	WATCH_RUNNING,
	WATCH_ENDING, /* it has been told to end, or lost its gateway */
	WATCH_OVER
};

struct watch {
	const struct plan *plan;
	struct outcome *outcome;
	struct terminal *terminal;
	struct pipes *pipes;
	struct bounds bounds;
	int proc; /* the sandbox's; -1 until it is there */
	int counters; /* of its refused packets: redirect_count(); the same */
	struct entered entered;
	struct loop *loop;
	struct serve *serve;
	struct execlog *execlog; /* NULL: nothing is recorded */
	int gateway, signals;
	struct event *inside, *first, *signalled, *answered, *timer, *look;
	enum watch_state state;
	int64_t started_us;
	int64_t deadline_us; /* of the command; 0: none */
	int64_t paused_us; /* since when */
	bool paused;
	bool offered, trusted;
	bool ready, go; /* the inside is, and the parent said so */
	bool stops; /* we were told to stop, and wait for the command to */
};

/* The timer of the state it is in, from now on. */
void watch_arm(struct watch *watch, int64_t ms);

/* Whether the sandbox keeps its limits is looked at from now on. */
void watch_look(struct watch *watch);

/* The outcome is filled: nothing more is heard. */
void watch_end(struct watch *watch);

/* Fills it with a failure of ours, and ends. */
void watch_fail(
    struct watch *watch, enum stage stage, const struct problem *problem);

#endif
