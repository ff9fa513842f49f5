/*
 * parent - a test in the place of exeat run: it starts real audit writers and
 * speaks to them as a parent and as its producers do.
 *
 * Everything blocks, with a deadline, and a failure fails the test.
 */
#ifndef TESTS_GATEWAY_AUDIT_PARENT_H
#define TESTS_GATEWAY_AUDIT_PARENT_H

#include "gateway/proc/spawn.h"
#include "schema/event.h"
#include "schema/frame.h"

#include <stdbool.h>

#define PARENT_WAIT_MS 20000

struct sqlite3;

struct parent {
	char folder[512];
	char database[640];
	const char *segment_rows; /* digits; NULL: as many as usual */
	const char *environment[4]; /* of its writers; up to a NULL */
	struct spawned writer;
};

/* Made in a private folder; gone, with all that is in it, at the end. */
void parent_begin(struct parent *parent);
void parent_end(struct parent *parent);

/* Starts a writer; text gets what it said on descriptor 3. */
void parent_start(struct parent *parent, struct spawned *ret, char text[512]);

/* Starts the writer of this test and expects it to be ready. */
void parent_start_writer(struct parent *parent);

/* Waits for its end; gives waitpid's status. */
int parent_await_writer(struct parent *parent);

int parent_connect(const struct parent *parent);

/* The first frame, and the answer to it. */
void parent_open_run(int fd, const char *uid);
void parent_send_run(int fd, const char *uid);
void parent_send_run_synced(int fd, const char *uid, enum event_sync sync);
void parent_await_open(int fd);
int parent_add_producer(int fd, enum event_role role);
void parent_send_policy(int fd, const char *body, bool honest);
void parent_send_end(int fd, int status);

/* The next frame; borrows from a buffer of the next call. */
struct frame parent_receive(int fd);
struct event_closed parent_await_closed(int fd);

/* True when the other side has closed, and sends nothing before. */
bool parent_is_closed(int fd);

/* An allowed intent of a request, to be filled in further. */
struct event parent_event(uint64_t number, enum event_wait wait);
void parent_send_event(int fd, const struct event *event);

/* Waits until number is accepted; gives its seq when it was waited for. */
int64_t parent_await_accepted(int fd, uint64_t number);

/* Opened for reading, as people do; close with sqlite3_close(). */
struct sqlite3 *parent_read(const struct parent *parent);

/* The first column of the first row. */
long long parent_number(const struct parent *parent, const char *sql);
void parent_text(
    const struct parent *parent, const char *sql, char *out, size_t size);

#endif
