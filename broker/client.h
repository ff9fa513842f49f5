/*
 * client - asks a broker without blocking: a number for each question, and a
 * deadline.
 *
 * It owns no channel: it writes frames to whoever sends them and is given
 * those that come.  Every question is answered once: by the broker, by its
 * deadline, or by client_close() when the broker is gone.
 */
#ifndef BROKER_CLIENT_H
#define BROKER_CLIENT_H

#include "schema/frame.h"
#include "schema/grant.h"
#include "schema/token.h"

struct client;

/* What came of a question. */
struct client_answer {
	/*
	 * STATUS_OK, STATUS_REFUSED with why, STATUS_TIMEOUT, or STATUS_CLOSED.
	 */
	int status;
	struct grant *grant; /* borrowed; whoever keeps it empties it */
	/* Of a question for a token, likewise; and what the refusal is. */
	const struct token_answer *token;
	const struct token_refusal *refusal; /* NULL: the broker said none */
	const char *why; /* in words; never NULL */
};

/* One question under way; the caller's room, untouched until the call. */
struct client_ask {
	void (*on_answer)(
	    struct client_ask *ask, const struct client_answer *answer);
	uint32_t number; /* 0: none under way */
	bool is_for_token;
	int64_t deadline_us;
	struct client_ask *next, **previous;
};

struct client_events {
	int (*send)(const struct cursor_writer *out, void *arg);
	void *arg;
};

struct client *client_new(const struct client_events *events) MUST_CHECK;

/* Forgets every question. */
void client_free(struct client *client);

/*
 * Asks; on_answer comes later, never from here.  question->number is filled
 * in.  Anything but STATUS_OK: it was not asked.
 */
int client_grant(struct client *client, struct grant_question *question,
    struct client_ask *ask, int64_t now_us) MUST_CHECK;

/* The same for a token; what it quotes is borrowed for the call. */
int client_token(struct client *client, struct token_question *question,
    struct client_ask *ask, int64_t now_us) MUST_CHECK;

/* Also for one that was answered or never put. */
void client_forget(struct client *client, struct client_ask *ask);

/* Answers what has waited too long; when to call again, or -1. */
int64_t client_expire(struct client *client, int64_t now_us);

/*
 * A frame of the broker's.  STATUS_MALFORMED for what it may not say, which
 * ends its channel.
 */
int client_take(struct client *client, const struct frame *frame) MUST_CHECK;

/* The broker is gone: nothing is asked any more. */
void client_close(struct client *client);

#endif
