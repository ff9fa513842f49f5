#include "broker/client.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

#define US_A_MS 1000

struct client {
	struct client_events events;
	struct client_ask *first; /* in the order they were asked */
	struct client_ask **last;
	size_t count;
	uint32_t number;
	bool closed;
};

struct client *
client_new(const struct client_events *events)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL)
		return NULL;
	client->events = *events;
	client->last = &client->first;
	return client;
}

void
client_forget(struct client *client, struct client_ask *ask)
{
	if (ask->previous == NULL)
		return;
	*ask->previous = ask->next;
	if (ask->next != NULL)
		ask->next->previous = ask->previous;
	else
		client->last = ask->previous;
	ask->next = NULL;
	ask->previous = NULL;
	ask->number = 0;
	client->count--;
}

void
client_free(struct client *client)
{
	if (client == NULL)
		return;
	while (client->first != NULL)
		client_forget(client, client->first);
	free(client);
}

/* The next number that no question under way has; 0 is none. */
static uint32_t
next_number(struct client *client)
{
	if (++client->number == 0)
		client->number = 1;
	return client->number;
}

static int
send_ask(struct client *client, const struct cursor_writer *out,
    struct client_ask *ask, uint32_t number, int64_t now_us)
{
	int status;

	if (client->closed)
		return STATUS_CLOSED;
	if (client->count >= LIMIT_ASKS)
		return STATUS_FULL;
	status = client->events.send(out, client->events.arg);
	if (status != STATUS_OK)
		return status;
	ask->number = number;
	ask->deadline_us = now_us + (int64_t)LIMIT_GRANT_MS * US_A_MS;
	ask->next = NULL;
	ask->previous = client->last;
	*client->last = ask;
	client->last = &ask->next;
	client->count++;
	return STATUS_OK;
}

int
client_grant(struct client *client, struct grant_question *question,
    struct client_ask *ask, int64_t now_us)
{
	unsigned char packet[sizeof(*question) + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_GRANT_ASK, packet, sizeof(packet));

	question->number = next_number(client);
	grant_question_write(question, &out);
	ask->is_for_token = false;
	return send_ask(client, &out, ask, question->number, now_us);
}

int
client_token(struct client *client, struct token_question *question,
    struct client_ask *ask, int64_t now_us)
{
	unsigned char packet[sizeof(*question) + (size_t)2 * LIMIT_TOKEN + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_TOKEN_ASK, packet, sizeof(packet));
	int status;

	question->number = next_number(client);
	token_question_write(question, &out);
	ask->is_for_token = true;
	status = send_ask(client, &out, ask, question->number, now_us);
	explicit_bzero(packet, sizeof(packet));
	return status;
}

/* A number that a question of the other kind has is nobody's here. */
static struct client_ask *
find(struct client *client, uint32_t number, bool is_for_token)
{
	struct client_ask *ask = client->first;

	while (ask != NULL &&
	       (ask->number != number || ask->is_for_token != is_for_token))
		ask = ask->next;
	return ask;
}

static void
answer(struct client *client, struct client_ask *ask,
    const struct client_answer *said)
{
	client_forget(client, ask);
	ask->on_answer(ask, said);
}

int64_t
client_expire(struct client *client, int64_t now_us)
{
	static const struct client_answer late = { .status = STATUS_TIMEOUT,
		.why = "the broker did not answer in time" };

	/* All wait equally long, so the oldest is always first. */
	while (client->first != NULL && client->first->deadline_us <= now_us)
		answer(client, client->first, &late);
	return client->first == NULL ? -1 : client->first->deadline_us;
}

static int
take_given(struct client *client, struct cursor body)
{
	struct grant grant = { .count = 0 };
	struct client_ask *ask;
	int status = grant_read(body, &grant);

	/* Out of locked memory is our own lack, and no fault of its. */
	if (status == STATUS_NO_MEMORY)
		return STATUS_OK;
	if (status != STATUS_OK)
		return STATUS_MALFORMED;
	ask = find(client, grant.number, false);
	if (ask != NULL) {
		struct client_answer said = {
			.status = STATUS_OK, .grant = &grant, .why = ""
		};

		answer(client, ask, &said);
	}
	grant_done(&grant);
	return STATUS_OK;
}

static int
take_refused(struct client *client, struct cursor body)
{
	struct grant_refusal refusal;
	struct client_ask *ask;

	if (grant_refusal_read(body, &refusal) != STATUS_OK)
		return STATUS_MALFORMED;
	ask = find(client, refusal.number, false);
	if (ask != NULL) {
		struct client_answer said = { .status = STATUS_REFUSED,
			.why = refusal.text };

		answer(client, ask, &said);
	}
	return STATUS_OK;
}

static int
take_token(struct client *client, struct cursor body)
{
	struct token_answer token;
	struct client_ask *ask;

	if (token_answer_read(body, &token) != STATUS_OK)
		return STATUS_MALFORMED;
	ask = find(client, token.number, true);
	if (ask != NULL) {
		struct client_answer said = {
			.status = STATUS_OK, .token = &token, .why = ""
		};

		answer(client, ask, &said);
	}
	return STATUS_OK;
}

static int
take_no_token(struct client *client, struct cursor body)
{
	struct token_refusal refusal;
	struct client_ask *ask;

	if (token_refusal_read(body, &refusal) != STATUS_OK)
		return STATUS_MALFORMED;
	ask = find(client, refusal.number, true);
	if (ask != NULL) {
		struct client_answer said = { .status = STATUS_REFUSED,
			.refusal = &refusal,
			.why = refusal.why };

		answer(client, ask, &said);
	}
	return STATUS_OK;
}

static const struct {
	uint16_t type;
	int (*take)(struct client *client, struct cursor body);
} messages[] = {
	{ FRAME_GRANT_GIVEN, take_given },
	{ FRAME_GRANT_REFUSED, take_refused },
	{ FRAME_TOKEN_GIVEN, take_token },
	{ FRAME_TOKEN_REFUSED, take_no_token },
};

int
client_take(struct client *client, const struct frame *frame)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].type == frame->type)
			return messages[i].take(client, frame->body);
	return STATUS_MALFORMED;
}

void
client_close(struct client *client)
{
	static const struct client_answer gone = { .status = STATUS_CLOSED,
		.why = "the broker is gone" };

	client->closed = true;
	while (client->first != NULL)
		answer(client, client->first, &gone);
}
