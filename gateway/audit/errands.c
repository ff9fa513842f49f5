#include "gateway/audit/errands.h"

#include "gateway/audit/keeper.h"
#include "gateway/audit/store.h"
#include "gateway/audit/writer.h"
#include "gateway/proc/clock.h"
#include "schema/json.h"
#include "schema/status.h"

#include <assert.h>
#include <stdlib.h>

struct errand {
	struct writer *writer;
	struct keeper *keeper;
	struct chore chore;
	errand_done *done; /* NULL: nobody is told */
	void *arg;
	struct writer_op op; /* of the row that says it */
};

static void
finish(struct errand *errand, const char *text, const char *cure)
{
	struct problem problem = { .text = "" };

	if (text != NULL)
		(void)problem_set(&problem, "%s", text);
	if (cure != NULL)
		(void)problem_cure(&problem, "%s", cure);
	if (errand->done != NULL)
		errand->done(errand->arg, &problem);
	free(errand);
}

static void
on_kept(void *arg, const char *problem)
{
	finish(arg, problem, NULL);
}

static void
ask_keeper(struct errand *errand)
{
	bool prunes = errand->chore.kind == CHORE_PRUNE;

	if (keeper_ask(errand->keeper, prunes ? KEEPER_REMOVE : KEEPER_TEND,
		errand->chore.segment, on_kept, errand) != STATUS_OK)
		finish(errand, "the keeper of this audit does not answer",
		    "See the file DB.log; a new writer has a new keeper.");
}

/* ---- the row that says it ---- */

static int
apply_nothing(struct store *store, void *arg)
{
	(void)store;
	(void)arg;
	return STATUS_OK;
}

static void
on_written(void *arg, int64_t seq)
{
	(void)seq;
	ask_keeper(arg);
}

static const char *const objects[] = {
	[CHORE_TEND] = NULL,
	[CHORE_SEAL] = NULL,
	[CHORE_HOLD] = "hold",
	[CHORE_RELEASE] = "release",
	[CHORE_PRUNE] = "prune",
};

static_assert(sizeof(objects) / sizeof(objects[0]) == CHORE_COUNT,
    "every chore has its row or none");

static int
put_row(struct errand *errand)
{
	const struct chore *chore = &errand->chore;
	unsigned char text[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);
	struct event event = event_empty();

	json_open(&json, NULL, '{');
	if (chore->kind == CHORE_PRUNE)
		json_number(&json, "segment", chore->segment);
	else
		json_text(&json, "run", chore->run);
	json_text(&json, "by", chore->by);
	json_close(&json, '}');
	if (!cursor_written(&out))
		return STATUS_TOO_LONG;
	event.number = 1;
	event.kind = chore->kind == CHORE_PRUNE ? EVENT_AUDIT : EVENT_ADMIN;
	event.wait = EVENT_WAIT_DISK;
	event.ts_us = clock_wall_us();
	event.object = cursor_of_text(objects[chore->kind]);
	event.detail = cursor_of(text, out.used);
	errand->op = (struct writer_op){
		.apply = apply_nothing, .done = on_written, .arg = errand
	};
	return writer_put(errand->writer, &event, NULL, NULL, &errand->op);
}

/* ---- what may be done ---- */

/* Rows of a run that goes on may still be named by it. */
static bool
may_prune(struct errand *errand)
{
	struct store *store = writer_store(errand->writer);
	int64_t segment = errand->chore.segment;

	if (segment >= store_segment(store)) {
		finish(errand, "that segment is being written",
		    "exeat audit seal begins the next one.");
		return false;
	}
	if (!store_is_used(store, segment))
		return true;
	finish(errand, "a run that goes on has rows in that segment",
	    "Prune it when the run has ended.");
	return false;
}

static void
begin_seal(struct errand *errand)
{
	if (!writer_commit(errand->writer) || !writer_rotate(errand->writer))
		finish(errand, "the next segment cannot be begun",
		    "See the file DB.log.");
	else
		ask_keeper(errand);
}

struct errand *
errand_new(struct writer *writer, struct keeper *keeper,
    const struct chore *chore, errand_done *done, void *arg)
{
	struct errand *errand = calloc(1, sizeof(*errand));

	if (errand == NULL)
		return NULL;
	*errand = (struct errand){ .writer = writer,
		.keeper = keeper,
		.chore = *chore,
		.done = done,
		.arg = arg };
	return errand;
}

void
errand_run(struct errand *errand)
{
	if (errand->chore.kind == CHORE_TEND)
		ask_keeper(errand);
	else if (errand->chore.kind == CHORE_SEAL)
		begin_seal(errand);
	else if (errand->chore.kind == CHORE_PRUNE && !may_prune(errand))
		return;
	else if (put_row(errand) != STATUS_OK)
		finish(errand, "there is no memory for it", NULL);
}

void
errand_forget(struct errand *errand)
{
	errand->done = NULL;
}
