#include "gateway/launch/masks.h"

#include "gateway/files/glob.h"
#include "gateway/files/sensitive.h"
#include "gateway/launch/mounts.h"
#include "gateway/launch/plan.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* A file that has, or may have, a second name. */
struct inode {
	dev_t device;
	ino_t number;
};

/* One look for secrets, in one or two passes. */
struct finder {
	const struct plan *plan;
	bool with_patterns;
	bool matched[LIMIT_PATTERNS]; /* each of the plan's masks */
	const struct masks_hider *hider;
	struct inode linked[LIMIT_HIDDEN];
	size_t linked_count;
};

/* ---- finding ---- */

/* What cannot be read here cannot be read by the sandbox either. */
static bool
holds_secret(
    const struct search_entry *entry, const struct sensitive_needles *needles)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	char bytes[LIMIT_SEARCH_BYTES];
	ssize_t length;

	if (needles->list[0] == NULL)
		return true;
	fd = openat(
	    entry->directory, entry->name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, bytes, sizeof(bytes));
	if (length < 0)
		return true;
	for (size_t i = 0; needles->list[i] != NULL; i++)
		if (memmem(bytes, (size_t)length, needles->list[i],
			strlen(needles->list[i])) != NULL)
			return true;
	return false;
}

static bool
is_shown(const struct finder *finder, const char *path)
{
	const struct plan_patterns *show = &finder->plan->show;

	for (size_t i = 0; finder->with_patterns && i < show->count; i++)
		if (glob_matches(show->list[i], path))
			return true;
	return false;
}

/* Every pattern that matches is noted, not only the first. */
static bool
is_masked(struct finder *finder, const char *path)
{
	const struct plan_patterns *mask = &finder->plan->mask;
	bool masked = false;

	for (size_t i = 0; finder->with_patterns && i < mask->count; i++)
		if (glob_matches(mask->list[i], path))
			masked = finder->matched[i] = true;
	return masked;
}

static bool
is_secret(const struct search_entry *entry)
{
	const struct sensitive_needles *needles;

	if (entry->type == DT_SOCK)
		return true;
	return (entry->type == DT_REG || entry->type == DT_LNK) &&
	       sensitive_is_secret(entry->name, &needles) &&
	       holds_secret(entry, needles);
}

/* Keeps what has another name; a link that leads nowhere has none. */
static int
remember(struct finder *finder, const struct search_entry *entry,
    struct problem *reterr)
{
	struct stat st;

	if (entry->type == DT_DIR || entry->type == DT_SOCK ||
	    fstatat(entry->directory, entry->name, &st, 0) != 0 ||
	    (entry->type == DT_REG && st.st_nlink < 2))
		return STATUS_OK;
	if (finder->linked_count == LIMIT_HIDDEN)
		return problem_set(reterr,
		    "more than %d secrets of the workspace have links to them",
		    LIMIT_HIDDEN);
	finder->linked[finder->linked_count++] =
	    (struct inode){ st.st_dev, st.st_ino };
	return STATUS_OK;
}

static enum search_next
hide(struct finder *finder, const struct search_entry *entry,
    struct problem *reterr)
{
	if (finder->hider->hide(entry, finder->hider->arg, reterr) != STATUS_OK)
		return SEARCH_FAILED;
	return SEARCH_PAST;
}

static enum search_next
on_entry(const struct search_entry *entry, void *arg, struct problem *reterr)
{
	struct finder *finder = arg;

	if (is_shown(finder, entry->path) ||
	    (!is_masked(finder, entry->path) && !is_secret(entry)))
		return SEARCH_ON;
	if (remember(finder, entry, reterr) != STATUS_OK)
		return SEARCH_FAILED;
	return hide(finder, entry, reterr);
}

/* The second pass: the same files by other names. */
static enum search_next
on_entry_again(
    const struct search_entry *entry, void *arg, struct problem *reterr)
{
	struct finder *finder = arg;
	struct stat st;

	for (size_t i = 0; i < finder->linked_count; i++) {
		const struct inode *one = &finder->linked[i];

		if (entry->inode != one->number ||
		    is_shown(finder, entry->path) ||
		    fstatat(entry->directory, entry->name, &st,
			AT_SYMLINK_NOFOLLOW) != 0 ||
		    st.st_ino != one->number || st.st_dev != one->device)
			continue;
		return hide(finder, entry, reterr);
	}
	return SEARCH_ON;
}

static void
tell_unmatched(
    const struct finder *finder, const struct masks_listener *listener)
{
	const struct plan_patterns *mask = &finder->plan->mask;

	for (size_t i = 0; finder->with_patterns && i < mask->count; i++) {
		char text[PROBLEM_TEXT_MAX];

		if (!finder->matched[i] &&
		    snprintf(text, sizeof(text),
			"the mask \"%.300s\" matches nothing in the workspace",
			mask->list[i]) > 0)
			listener->on_degraded(text, listener->arg);
	}
}

int
masks_find(int top, const struct plan *plan, bool with_patterns,
    const struct masks_hider *hider, const struct masks_listener *listener,
    struct problem *reterr)
{
	struct finder finder = {
		.plan = plan, .with_patterns = with_patterns, .hider = hider
	};
	bool cut = false, cut_again = false;
	int status = search_run(top, false, on_entry, &finder, &cut, reterr);

	if (status == STATUS_OK && finder.linked_count > 0)
		status = search_run(
		    top, true, on_entry_again, &finder, &cut_again, reterr);
	if (status != STATUS_OK)
		return status;
	tell_unmatched(&finder, listener);
	if (cut || cut_again)
		listener->on_degraded(
		    "the workspace has too many files to search them all for "
		    "secrets",
		    listener->arg);
	return STATUS_OK;
}

/* ---- covering ---- */

struct cover {
	struct mounts *mounts;
	const struct masks_listener *listener;
};

/* A link is not covered itself: what it leads to is, by its own name. */
static int
cover_entry(const struct search_entry *entry, void *arg, struct problem *reterr)
{
	struct cover *cover = arg;
	ON_SCOPE_EXIT(fd_done) int target = -1;
	struct stat st;

	if (entry->type == DT_LNK)
		return STATUS_OK;
	target = openat(
	    entry->directory, entry->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0)
		return errno == ENOENT ? STATUS_OK
				       : problem_errno(reterr, "cannot open %s",
					     entry->path);
	/* Changed just now, by somebody outside. */
	if (fstat(target, &st) != 0 || S_ISLNK(st.st_mode)) {
		(void)problem_set(
		    reterr, "%s changed while it was looked at", entry->path);
		return problem_cure(reterr, "start again");
	}
	if (mounts_hide(cover->mounts, target) != STATUS_OK)
		return problem_errno(reterr, "cannot hide %s", entry->path);
	cover->listener->on_hidden(entry->path, cover->listener->arg);
	return STATUS_OK;
}

int
masks_hide(struct mounts *mounts, const struct plan *plan, const char *at,
    const struct masks_listener *listener, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int top = -1;
	struct cover cover = { .mounts = mounts, .listener = listener };
	const struct masks_hider hider = { cover_entry, &cover };
	bool workspace =
	    plan->has_workspace && strcmp(at, plan->mounts[0].at) == 0;
	int status = mounts_directory(mounts, at, 0755, &top, reterr);

	if (status != STATUS_OK)
		return status;
	return masks_find(top, plan, workspace, &hider, listener, reterr);
}

/* Settings of programs that run outside, where they are looked for first. */
static const char *const watched[] = { ".git/hooks", ".git/config",
	".git/config.worktree", ".git/commondir", ".git/modules", ".gitmodules",
	".vscode", ".idea", ".devcontainer", ".envrc", ".husky", ".mcp.json",
	".claude", ".codex", ".cursor", ".gemini", "CLAUDE.md", "AGENTS.md",
	".github/workflows" };

/* Whose own names must stay, or a watched name could be moved from under
 * its guard. */
static const char *const pinned[] = { ".git", ".github" };

static int
open_beneath(int top, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, top, name, &how, sizeof(how));
}

/* ---- watched names ---- */

/* Mounts a copy of a place over itself; what is not there needs none. */
static int
guard(int top, const char *name, uint64_t attributes,
    const struct masks_listener *listener, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int target = open_beneath(top, name);
	ON_SCOPE_EXIT(fd_done) int tree = -1;
	int status;

	if (target < 0 && (errno == ENOENT || errno == ENOTDIR))
		return STATUS_OK;
	if (target < 0 && errno == ELOOP) {
		char text[PROBLEM_TEXT_MAX];

		if (snprintf(text, sizeof(text),
			"%s is behind a link and stays writable", name) > 0)
			listener->on_degraded(text, listener->arg);
		return STATUS_OK;
	}
	if (target < 0)
		return problem_errno(reterr, "cannot open %s", name);
	status =
	    mounts_copy(target, "", MOUNTS_BOUND | attributes, &tree, reterr);
	if (status != STATUS_OK)
		return status;
	if (move_mount(tree, "", target, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
		return problem_errno(reterr, "cannot guard %s", name);
	return STATUS_OK;
}

int
masks_freeze(struct mounts *mounts, const char *at,
    const struct masks_listener *listener, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int top = -1;
	int status = mounts_directory(mounts, at, 0755, &top, reterr);

	for (size_t i = 0; status == STATUS_OK && i < COUNT(pinned); i++)
		status = guard(top, pinned[i], 0, listener, reterr);
	for (size_t i = 0; status == STATUS_OK && i < COUNT(watched); i++)
		status =
		    guard(top, watched[i], MOUNT_ATTR_RDONLY, listener, reterr);
	return status;
}
