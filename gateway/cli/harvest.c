#include "gateway/cli/harvest.h"

#include "gateway/cli/settings.h"
#include "gateway/cli/showing.h"
#include "gateway/cli/task.h"
#include "gateway/files/apply.h"
#include "gateway/files/changes.h"
#include "gateway/files/snapshot.h"
#include "gateway/files/stack.h"
#include "schema/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Held changes that are named at the end of a run; all are in the diff. */
#define NAMED 5

static int
fill_manifest(const struct task *task, const char *run, struct manifest *ret,
    struct problem *reterr)
{
	struct manifest manifest = { .discard = task->files == TASK_DISCARD };
	struct stat st;

	if (stat(task->workspace.path, &st) != 0)
		return problem_errno(
		    reterr, "cannot examine %s", task->workspace.path);
	if (strlen(run) >= sizeof(manifest.name) ||
	    strlen(task->workspace.path) >= sizeof(manifest.workspace))
		return problem_set(reterr, "the workspace's path is too long");
	memcpy(manifest.name, run, strlen(run));
	memcpy(manifest.workspace, task->workspace.path,
	    strlen(task->workspace.path));
	manifest.device = st.st_dev;
	manifest.inode = st.st_ino;
	*ret = manifest;
	return STATUS_OK;
}

/* The layers of a snapshot over the workspace that it was taken of. */
static int
begin_from(const char *store, const char *name, struct manifest *manifest,
    struct problem *reterr)
{
	struct manifest snapshot;
	int status = snapshot_read(store, name, &snapshot, reterr);

	if (status != STATUS_OK)
		return status;
	if (strcmp(snapshot.workspace, manifest->workspace) != 0) {
		(void)problem_set(reterr,
		    "the snapshot %s is of another workspace (state.conflict)",
		    name);
		return problem_cure(
		    reterr, "--workspace %.200s", snapshot.workspace);
	}
	memcpy(manifest->layers, snapshot.layers, sizeof(manifest->layers));
	manifest->layer_count = snapshot.layer_count;
	manifest->base_ns = snapshot.base_ns;
	return STATUS_OK;
}

int
harvest_begin(const struct task *task, const struct settings *settings,
    const char *run, struct box *ret, struct problem *reterr)
{
	struct manifest manifest;
	int status = settings_make_folder(settings->files, reterr);

	if (status != STATUS_OK)
		return status;
	if (task_shows(task, settings->files)) {
		(void)problem_set(reterr,
		    "the sandbox could reach %s, where runs keep their files",
		    settings->files);
		return problem_cure(reterr,
		    "set XDG_STATE_HOME to a folder outside the workspace and "
		    "the mounts");
	}
	box_sweep(settings->files);
	status = fill_manifest(task, run, &manifest, reterr);
	if (status == STATUS_OK && task->from != NULL)
		status =
		    begin_from(settings->files, task->from, &manifest, reterr);
	if (status == STATUS_OK)
		status = box_make(settings->files, &manifest, ret, reterr);
	return status;
}

/* ---- the end ---- */

struct end {
	const struct task *task;
	struct harvest *harvest;
	unsigned named;
};

static void
on_held(const struct change *change, const char *why, void *arg)
{
	struct end *end = arg;

	if (end->task->quiet || end->named++ >= NAMED)
		return;
	(void)fputs("exeat: held ", stderr);
	showing_path(stderr, change->path);
	(void)fprintf(stderr, ": %s\n",
	    why != NULL ? why : change_reason_words(change->reason));
}

static void
count(const struct changes *changes, struct harvest *harvest)
{
	uint64_t *const by_kind[] = {
		[CHANGE_DELETED] = &harvest->deleted,
		[CHANGE_ADDED] = &harvest->added,
		[CHANGE_CHANGED] = &harvest->changed,
	};

	for (size_t i = 0; i < changes->count; i++)
		++*by_kind[changes->list[i].kind];
	harvest->review = changes_count(changes, CHANGE_REVIEW);
	harvest->conflicts = changes_count(changes, CHANGE_CONFLICT);
	harvest->dropped = changes_count(changes, CHANGE_DROPPED);
}

/* A terminal at both ends, and a word that begins with y. */
static bool
person_agrees(const struct changes *changes, const char *workspace)
{
	char answer[16];

	if (changes->count == 0)
		return true;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	(void)fprintf(stderr, "exeat: apply %zu change%s to %s? [y/N] ",
	    changes->count, changes->count == 1 ? "" : "s", workspace);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static void
tell(const struct end *end, const char *run)
{
	const struct harvest *harvest = end->harvest;

	if (end->task->quiet)
		return;
	if (end->named > NAMED)
		(void)fprintf(stderr, "exeat: and %u more are held\n",
		    end->named - NAMED);
	if (harvest->dropped > 0)
		(void)fprintf(stderr,
		    "exeat: %" PRIu64
		    " pipes, sockets or devices were not taken over\n",
		    harvest->dropped);
	if (harvest->applied + harvest->held == 0)
		return;
	(void)fprintf(stderr,
	    "exeat: %" PRIu64 " change%s applied to the workspace",
	    harvest->applied, harvest->applied == 1 ? "" : "s");
	if (harvest->held > 0)
		(void)fprintf(stderr,
		    ", %" PRIu64 " held; exeat diff %s, exeat apply %s",
		    harvest->held, run, run);
	(void)fputs("\n", stderr);
}

static int
take_over(const struct box *box, const struct stack *stack,
    const struct changes *changes, struct end *end, struct problem *reterr)
{
	struct apply_wish wish = { .on_held = on_held, .arg = end };
	struct apply_counts counts = { 0 };
	bool wanted = end->task->apply == TASK_APPLY_SAFE ||
		      (end->task->apply == TASK_APPLY_ASK &&
			  person_agrees(changes, box->manifest.workspace));

	count(changes, end->harvest);
	if (changes->cut) {
		end->harvest->held = changes->count;
		(void)problem_set(reterr,
		    "the run changed more than %d files, or more than 1 GiB: "
		    "nothing was applied",
		    LIMIT_CHANGES);
		return problem_cure(reterr,
		    "apply it in parts, as in: exeat apply %s --yes src; or "
		    "all of it with --large",
		    box->manifest.name);
	}
	if (!wanted) {
		end->harvest->held = changes->count;
		return STATUS_OK;
	}
	if (apply_changes(box, stack, changes, &wish, &counts) != STATUS_OK)
		return problem_errno(
		    reterr, "cannot apply what %s wrote", box->manifest.name);
	end->harvest->applied = counts.applied;
	end->harvest->held = counts.held + counts.failed;
	return STATUS_OK;
}

static int
bring_in(struct box *box, struct end *end, struct problem *reterr)
{
	const struct changes_wish all = { .only_count = 0 };
	struct changes changes = { .list = NULL };
	struct stack stack;
	int status = STATUS_OK;

	if (end->task->snapshot != NULL)
		status = snapshot_take(box, end->task->snapshot, reterr);
	if (status == STATUS_OK)
		status = stack_open(box, &stack, reterr);
	if (status != STATUS_OK)
		return status;
	status = changes_collect(&stack, &all, &changes, reterr);
	if (status == STATUS_OK)
		status = take_over(box, &stack, &changes, end, reterr);
	changes_done(&changes);
	stack_done(&stack);
	return status;
}

int
harvest_end(struct box *box, const struct task *task, bool ran,
    struct harvest *ret, struct problem *reterr)
{
	struct end end = { .task = task, .harvest = ret };
	char run[LIMIT_RUN_UID + 1];
	int status;

	*ret = (struct harvest){ .known = false };
	if (!ran || task->files == TASK_DISCARD)
		return box_remove(box, reterr);
	memcpy(run, box->manifest.name, sizeof(run));
	ret->known = true;
	status =
	    box_settle(box) == STATUS_OK
		? bring_in(box, &end, reterr)
		: problem_set(reterr, "the sandbox of %s does not end", run);
	if (status == STATUS_OK && ret->held == 0)
		status = box_remove(box, reterr);
	else
		box_tidy(box);
	box_done(box);
	if (status == STATUS_OK)
		tell(&end, run);
	return status;
}
