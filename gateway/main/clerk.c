#include "gateway/main/clerk.h"

#include "broker/agent.h"
#include "broker/catalog.h"
#include "broker/deed.h"
#include "broker/issuer.h"
#include "broker/remit.h"
#include "gateway/audit/sink.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/generation.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define US_A_SECOND 1000000

/* Behind the slots of the credentials. */
enum {
	ROOT_SLOT = LIMIT_CREDENTIALS + 1
};
static_assert(ROOT_SLOT < GENERATION_SLOTS, "the page has a slot for it");

/* One answer that waits for its row. */
struct paper {
	LIST_ENTRY(paper) entry;
	struct sink_wait row;
	struct clerk *clerk;
	struct channel *channel;
	uint32_t number;
	size_t length;
	unsigned char packet[]; /* the whole frame */
};

struct clerk {
	struct clerk_setup setup;
	struct issuer *issuer; /* NULL: the run has no identity */
	struct sink_wait beginning;
	LIST_HEAD(, paper) papers;
	struct issuer_outcome outcome; /* of the question that is answered */
	struct deed deed;
};

/* ---- answers ---- */

/* An answer that cannot be sent is one that does not come: a no. */
static void
send_bytes(struct channel *channel, unsigned char *bytes, size_t length)
{
	struct cursor_writer out = cursor_writer_of(bytes, length);

	out.used = length;
	(void)!channel_send(channel, &out, NULL, 0);
	explicit_bzero(bytes, length);
}

static void
write_refusal(const struct token_refusal *refusal, struct cursor_writer *out)
{
	cursor_put_u16(out, FRAME_TOKEN_REFUSED);
	token_refusal_write(refusal, out);
}

static void
write_answer(const struct issuer_outcome *outcome, struct cursor_writer *out)
{
	struct token_answer answer = { .number = outcome->refusal.number,
		.token = outcome->token,
		.text = cursor_of(outcome->text, outcome->length) };

	if (!outcome->well) {
		write_refusal(&outcome->refusal, out);
		return;
	}
	cursor_put_u16(out, FRAME_TOKEN_GIVEN);
	token_answer_write(&answer, out);
}

static void
refuse_unwritten(struct channel *channel, uint32_t number)
{
	unsigned char packet[sizeof(struct token_refusal) + 16];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));
	struct token_refusal refusal = { .number = number,
		.error = TOKEN_UNAVAILABLE,
		.reason = REASON_AUDIT_UNAVAILABLE,
		.why = "the audit takes no rows" };

	write_refusal(&refusal, &out);
	send_bytes(channel, packet, out.used);
}

static void
drop(struct paper *paper)
{
	sink_forget(paper->clerk->setup.sink, &paper->row);
	LIST_REMOVE(paper, entry);
	explicit_bzero(paper->packet, paper->length);
	free(paper);
}

static void
on_written(struct sink_wait *wait, int64_t seq)
{
	struct paper *paper =
	    (struct paper *)((char *)wait - offsetof(struct paper, row));

	if (seq > 0)
		send_bytes(paper->channel, paper->packet, paper->length);
	else
		refuse_unwritten(paper->channel, paper->number);
	drop(paper);
}

/* Keeps the answer until its row is there; NULL without memory. */
static struct paper *
file_answer(struct clerk *clerk, struct channel *channel)
{
	unsigned char packet[sizeof(struct token) + LIMIT_TOKEN + 64];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));
	struct paper *paper;

	write_answer(&clerk->outcome, &out);
	paper = calloc(1, sizeof(*paper) + out.used);
	if (paper != NULL && cursor_written(&out)) {
		paper->clerk = clerk;
		paper->channel = channel;
		paper->number = clerk->outcome.refusal.number;
		paper->row.on_accepted = on_written;
		paper->length = out.used;
		memcpy(paper->packet, packet, out.used);
		LIST_INSERT_HEAD(&clerk->papers, paper, entry);
	}
	explicit_bzero(packet, sizeof(packet));
	return paper;
}

static void
answer(struct clerk *clerk, struct channel *channel)
{
	unsigned char packet[sizeof(struct token) + LIMIT_TOKEN + 64];
	struct cursor_writer out = cursor_writer_of(packet, sizeof(packet));

	write_answer(&clerk->outcome, &out);
	send_bytes(channel, packet, out.used);
}

static void
answer_behind_row(struct clerk *clerk, struct channel *channel)
{
	struct paper *paper = file_answer(clerk, channel);

	if (paper != NULL && sink_put(clerk->setup.sink, &clerk->deed.event,
				 &paper->row) == STATUS_OK)
		return;
	if (paper != NULL)
		drop(paper);
	refuse_unwritten(channel, clerk->outcome.refusal.number);
}

/* ---- questions ---- */

static void
refuse_all(struct clerk *clerk, const struct token_question *question)
{
	static const char why[] =
	    "this run has no identity: exeat run --identity NAME gives it one";
	struct token_refusal *refusal = &clerk->outcome.refusal;

	clerk->outcome = (struct issuer_outcome){ .well = false };
	refusal->number = question->number;
	refusal->error = TOKEN_UNAUTHORIZED_CLIENT;
	refusal->reason = REASON_BAD_TOKEN;
	memcpy(refusal->why, why, sizeof(why));
}

int
clerk_take(struct clerk *clerk, struct channel *channel, struct cursor body)
{
	const struct issuer_outcome *outcome = &clerk->outcome;
	struct token_question question;
	int64_t wall_us = clock_wall_us();

	if (token_question_read(body, &question) != STATUS_OK ||
	    question.id[0] != '\0' || question.by[0] != '\0')
		return STATUS_MALFORMED;
	if (clerk->issuer == NULL)
		refuse_all(clerk, &question);
	else
		issuer_answer(clerk->issuer, &question, wall_us / US_A_SECOND,
		    &clerk->outcome);
	if (deed_of(&question, outcome, wall_us, &clerk->deed))
		answer_behind_row(clerk, channel);
	else
		answer(clerk, channel);
	explicit_bzero(clerk->outcome.text, outcome->length);
	return STATUS_OK;
}

/* ---- the run's own ---- */

const char *
clerk_objection(const struct clerk *clerk, const char *credential)
{
	char word[LIMIT_CREDENTIAL_NAME + 8];

	if (clerk->issuer == NULL)
		return NULL;
	if (!issuer_holds(clerk->issuer))
		return "the identity of this run was revoked";
	if (snprintf(word, sizeof(word), "cred:%s", credential) < 0 ||
	    !remit_has(issuer_root(clerk->issuer)->scope, cursor_of_text(word)))
		return "the identity of this run does not have this credential "
		       "in its scope";
	return NULL;
}

int
clerk_introduce(const struct clerk *clerk, struct channel *channel)
{
	unsigned char packet[sizeof(struct token_root) + 64];
	struct cursor_writer out =
	    frame_begin(FRAME_TOKEN_ROOT, packet, sizeof(packet));
	struct token_root root = { .slot = ROOT_SLOT };

	if (clerk->issuer == NULL)
		return STATUS_OK;
	root.token = *issuer_root(clerk->issuer);
	root.generation = generation_read(clerk->setup.generation, ROOT_SLOT);
	token_root_write(&root, &out);
	return channel_send(channel, &out, NULL, 0);
}

static void
on_begun(struct sink_wait *wait, int64_t seq)
{
	const struct clerk *clerk =
	    (const struct clerk *)((char *)wait -
				   offsetof(struct clerk, beginning));

	clerk->setup.on_begun(seq > 0, clerk->setup.arg);
}

static int
begin(struct clerk *clerk, struct problem *reterr)
{
	const struct clerk_setup *setup = &clerk->setup;
	const struct agents *agents = catalog_agents(setup->catalog);
	const struct issuer_setup issuing = { .agents = agents,
		.agent = agents_find(agents, setup->begin->identity),
		.name = catalog_issuer(setup->catalog),
		.run = setup->begin->run };

	if (issuing.agent == NULL) {
		(void)problem_set(reterr, "there is no identity \"%s\"",
		    setup->begin->identity);
		return problem_cure(
		    reterr, "add it to \"identities\" in the credential file");
	}
	clerk->issuer = issuer_new(&issuing, clock_wall_us() / US_A_SECOND);
	if (clerk->issuer == NULL)
		return problem_set(reterr, "there is no memory for an issuer");
	deed_of_root(issuer_root(clerk->issuer), clock_wall_us(), &clerk->deed);
	clerk->beginning.on_accepted = on_begun;
	if (sink_put(setup->sink, &clerk->deed.event, &clerk->beginning) !=
	    STATUS_OK)
		return problem_set(reterr, "the audit takes no rows");
	sink_flush(setup->sink);
	return STATUS_OK;
}

struct clerk *
clerk_new(const struct clerk_setup *setup, struct problem *reterr)
{
	struct clerk *clerk = calloc(1, sizeof(*clerk));

	if (clerk == NULL) {
		(void)problem_set(reterr, "there is no memory for a clerk");
		return NULL;
	}
	clerk->setup = *setup;
	LIST_INIT(&clerk->papers);
	if (setup->begin->identity[0] == '\0') {
		setup->on_begun(true, setup->arg);
		return clerk;
	}
	if (begin(clerk, reterr) == STATUS_OK)
		return clerk;
	clerk_free(clerk);
	return NULL;
}

void
clerk_free(struct clerk *clerk)
{
	if (clerk == NULL)
		return;
	while (!LIST_EMPTY(&clerk->papers))
		drop(LIST_FIRST(&clerk->papers));
	sink_forget(clerk->setup.sink, &clerk->beginning);
	issuer_free(clerk->issuer);
	free(clerk);
}
