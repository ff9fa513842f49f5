#include "gateway/run/approvals.h"

#include "schema/status.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_A_SECOND INT64_C(1000000)

/* Of a run's name, behind its first word: short enough to be typed. */
#define PREFIX_LETTERS 4

enum entry_state {
	ENTRY_OPEN,
	ENTRY_YES,
	ENTRY_NO
};

struct approvals_entry {
	TAILQ_ENTRY(approvals_entry) entry;
	TAILQ_HEAD(, approvals_wait) waits;
	struct approval_question question;
	enum entry_state state;
	int64_t until_us; /* how long the question or the answer stands */
	uint32_t uses; /* left of a yes */
	bool closing; /* its requests are being told */
	bool dead; /* it is in no list: freed once they are */
};

struct approvals {
	TAILQ_HEAD(, approvals_entry) entries;
	size_t open, count;
	uint64_t last; /* number given */
	char prefix[PREFIX_LETTERS + 1];
	approvals_over *on_over;
	void *arg;
};

struct approvals *
approvals_new(const char *run, approvals_over *on_over, void *arg)
{
	struct approvals *approvals = calloc(1, sizeof(*approvals));
	const char *dash = strchr(run, '-');
	size_t length;

	if (approvals == NULL)
		return NULL;
	TAILQ_INIT(&approvals->entries);
	if (dash != NULL)
		run = dash + 1;
	length = strlen(run);
	memcpy(approvals->prefix, run,
	    length < PREFIX_LETTERS ? length : PREFIX_LETTERS);
	approvals->on_over = on_over;
	approvals->arg = arg;
	return approvals;
}

static void
forget(struct approvals *approvals, struct approvals_entry *entry)
{
	struct approvals_wait *wait = TAILQ_FIRST(&entry->waits);

	for (; wait != NULL; wait = TAILQ_NEXT(wait, entry))
		wait->on = NULL;
	if (entry->state == ENTRY_OPEN)
		approvals->open--;
	approvals->count--;
	TAILQ_REMOVE(&approvals->entries, entry, entry);
	entry->dead = true;
	if (!entry->closing)
		free(entry);
}

void
approvals_free(struct approvals *approvals)
{
	struct approvals_entry *entry;

	if (approvals == NULL)
		return;
	while ((entry = TAILQ_FIRST(&approvals->entries)) != NULL)
		forget(approvals, entry);
	free(approvals);
}

void
approvals_leave(struct approvals_wait *wait)
{
	if (wait->on == NULL)
		return;
	TAILQ_REMOVE(&wait->on->waits, wait, entry);
	wait->on = NULL;
}

static bool
take_use(struct approvals_entry *entry)
{
	if (entry->state != ENTRY_YES || entry->uses == 0)
		return false;
	entry->uses--;
	return true;
}

/*
 * Takes it out of the open ones, tells, and answers whoever waits.  Who is
 * told may leave, ask again or make us forget the entry: so it is freed only
 * behind the last one.
 */
static void
close_question(struct approvals *approvals, struct approvals_entry *entry,
    enum approval_end end, enum entry_state state)
{
	struct approvals_wait *wait;

	entry->state = state;
	entry->closing = true;
	approvals->open--;
	approvals->on_over(&entry->question, end, approvals->arg);
	while ((wait = TAILQ_FIRST(&entry->waits)) != NULL) {
		enum approval_end his = end;

		approvals_leave(wait);
		if (end == APPROVAL_GRANTED && !take_use(entry))
			his = APPROVAL_REFUSED;
		wait->on_end(wait, his);
	}
	entry->closing = false;
	if (entry->dead)
		free(entry);
}

static struct approvals_entry *
find_same(struct approvals *approvals, const struct approval_question *question)
{
	struct approvals_entry *entry;

	TAILQ_FOREACH(entry, &approvals->entries, entry)
		if (approval_is_same(&entry->question, question))
			return entry;
	return NULL;
}

static struct approvals_entry *
find_open(struct approvals *approvals, const char *id)
{
	struct approvals_entry *entry;

	TAILQ_FOREACH(entry, &approvals->entries, entry)
		if (entry->state == ENTRY_OPEN &&
		    strcmp(entry->question.id, id) == 0)
			return entry;
	return NULL;
}

static void
name_question(struct approvals *approvals, char id[LIMIT_ASK_ID + 1])
{
	int length = snprintf(id, LIMIT_ASK_ID + 1, "%s-%llu",
	    approvals->prefix, (unsigned long long)++approvals->last);

	assert(length > 0 && length <= LIMIT_ASK_ID);
}

static enum approvals_answer
open_question(struct approvals *approvals, struct approval_question *question,
    int64_t now_us)
{
	struct approvals_entry *entry;

	if (approvals->open >= LIMIT_QUESTIONS ||
	    approvals->count >= LIMIT_APPROVALS)
		return APPROVALS_FULL;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return APPROVALS_FULL;
	name_question(approvals, question->id);
	entry->question = *question;
	entry->state = ENTRY_OPEN;
	entry->until_us = now_us + question->timeout_s * US_A_SECOND;
	TAILQ_INIT(&entry->waits);
	TAILQ_INSERT_TAIL(&approvals->entries, entry, entry);
	approvals->open++;
	approvals->count++;
	return APPROVALS_NEW;
}

/* What stands, or NULL; what is used up does not. */
static struct approvals_entry *
find_standing(struct approvals *approvals,
    const struct approval_question *question, int64_t now_us)
{
	struct approvals_entry *entry;

	approvals_expire(approvals, now_us);
	entry = find_same(approvals, question);
	if (entry == NULL || entry->state != ENTRY_YES || entry->uses > 0)
		return entry;
	forget(approvals, entry);
	return NULL;
}

enum approvals_answer
approvals_propose(struct approvals *approvals,
    struct approval_question *question, int64_t now_us)
{
	struct approvals_entry *entry =
	    find_standing(approvals, question, now_us);

	if (entry == NULL)
		return open_question(approvals, question, now_us);
	memcpy(question->id, entry->question.id, sizeof(question->id));
	switch (entry->state) {
	case ENTRY_OPEN:
		return APPROVALS_WAIT;
	case ENTRY_YES:
		return APPROVALS_YES;
	case ENTRY_NO:
		break;
	}
	return APPROVALS_NO;
}

enum approvals_answer
approvals_ask(struct approvals *approvals, struct approval_question *question,
    int64_t now_us)
{
	enum approvals_answer answer =
	    approvals_propose(approvals, question, now_us);
	struct approvals_entry *entry;

	if (answer != APPROVALS_YES)
		return answer;
	entry = find_same(approvals, question);
	return entry != NULL && take_use(entry) ? APPROVALS_YES : APPROVALS_NO;
}

bool
approvals_join(
    struct approvals *approvals, const char *id, struct approvals_wait *wait)
{
	struct approvals_entry *entry = find_open(approvals, id);

	if (entry == NULL)
		return false;
	wait->on = entry;
	TAILQ_INSERT_TAIL(&entry->waits, wait, entry);
	return true;
}

/* What was asked for within what is offered; 0 asks for all of it. */
static uint32_t
within(uint32_t wanted, uint32_t offered)
{
	return wanted == 0 || wanted > offered ? offered : wanted;
}

int
approvals_settle(struct approvals *approvals,
    const struct approval_answer *answer, int64_t now_us)
{
	struct approvals_entry *entry;
	struct approval_question *question;

	approvals_expire(approvals, now_us);
	entry = find_open(approvals, answer->id);
	if (entry == NULL)
		return STATUS_NOT_FOUND;
	question = &entry->question;
	if (answer->yes) {
		question->grant_s = within(answer->grant_s, question->grant_s);
		question->grant_uses =
		    within(answer->grant_uses, question->grant_uses);
	}
	entry->uses = answer->yes ? question->grant_uses : 0;
	entry->until_us = now_us + question->grant_s * US_A_SECOND;
	close_question(approvals, entry,
	    answer->yes ? APPROVAL_GRANTED : APPROVAL_REFUSED,
	    answer->yes ? ENTRY_YES : ENTRY_NO);
	return STATUS_OK;
}

static void
end_unanswered(struct approvals *approvals, struct approvals_entry *entry,
    enum approval_end end)
{
	/* Out of the way first: who is told may ask the same again. */
	TAILQ_REMOVE(&approvals->entries, entry, entry);
	approvals->count--;
	entry->dead = true;
	close_question(approvals, entry, end, ENTRY_NO);
}

void
approvals_drop(struct approvals *approvals, const char *id)
{
	struct approvals_entry *entry = find_open(approvals, id);

	if (entry != NULL)
		end_unanswered(approvals, entry, APPROVAL_REFUSED);
}

/* The first whose time is over, or NULL. */
static struct approvals_entry *
find_late(struct approvals *approvals, int64_t now_us)
{
	struct approvals_entry *entry;

	TAILQ_FOREACH(entry, &approvals->entries, entry)
		if (entry->until_us <= now_us)
			return entry;
	return NULL;
}

void
approvals_expire(struct approvals *approvals, int64_t now_us)
{
	struct approvals_entry *entry;

	while ((entry = find_late(approvals, now_us)) != NULL) {
		if (entry->state == ENTRY_OPEN)
			end_unanswered(approvals, entry, APPROVAL_EXPIRED);
		else
			forget(approvals, entry);
	}
}

int64_t
approvals_deadline(const struct approvals *approvals)
{
	const struct approvals_entry *entry;
	int64_t first = INT64_MAX;

	TAILQ_FOREACH(entry, &approvals->entries, entry)
		if (entry->state == ENTRY_OPEN && entry->until_us < first)
			first = entry->until_us;
	return first;
}

void
approvals_clear(struct approvals *approvals)
{
	TAILQ_HEAD(, approvals_entry) old;
	struct approvals_entry *entry;

	/* What is asked anew by those that are told is of the new policy. */
	TAILQ_INIT(&old);
	while ((entry = TAILQ_FIRST(&approvals->entries)) != NULL) {
		TAILQ_REMOVE(&approvals->entries, entry, entry);
		TAILQ_INSERT_TAIL(&old, entry, entry);
	}
	while ((entry = TAILQ_FIRST(&old)) != NULL) {
		TAILQ_REMOVE(&old, entry, entry);
		approvals->count--;
		entry->dead = true;
		if (entry->state == ENTRY_OPEN)
			close_question(
			    approvals, entry, APPROVAL_REPLACED, ENTRY_NO);
		else if (!entry->closing)
			free(entry);
	}
}
