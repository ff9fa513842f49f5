#include "gateway/launch/masks.h"

#include "gateway/launch/fd.h"
#include "gateway/launch/mounts.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A file name that tells of a secret: it begins and ends so (either may be
 * empty), has something between if it is not meant whole, and one of the
 * needles stands in the file, if there are any.
 */
struct secret_name {
	const char *begins, *ends;
	bool whole; /* begins is all of it */
	const char *needles[4];
};

static const struct secret_name secret_names[] = {
	{ ".env", "", true, { NULL } },
	{ ".env.", "", false, { NULL } },
	{ ".netrc", "", true, { NULL } },
	{ ".git-credentials", "", true, { NULL } },
	{ "id_rsa", "", true, { NULL } },
	{ "id_dsa", "", true, { NULL } },
	{ "id_ecdsa", "", true, { NULL } },
	{ "id_ed25519", "", true, { NULL } },
	{ "", ".kdbx", false, { NULL } },
	{ "", ".tfstate", false, { NULL } },
	{ "", ".tfstate.backup", false, { NULL } },
	{ "service-account", ".json", false, { NULL } },
	{ "", ".pem", false, { "PRIVATE KEY", NULL } },
	{ "", ".key", false, { "PRIVATE KEY", NULL } },
	{ ".npmrc", "", true, { "_authToken", "_auth", "_password", NULL } },
	{ ".pypirc", "", true, { "password", NULL } },
};

/* Like secrets by name, and made to be shown. */
static const char *const examples[] = { ".example", ".sample", ".template" };

/* Large, and not where people put secrets. */
static const char *const skipped[] = { "node_modules", "target", "objects" };

/* Settings of programs that run outside, by who reads them. */
static const char *const watched[] = { ".git/hooks", ".git/config",
	".git/config.worktree", ".git/modules", ".gitmodules", ".vscode",
	".idea", ".devcontainer", ".envrc", ".husky", ".mcp.json", ".claude",
	".codex", ".cursor", ".gemini", "CLAUDE.md", "AGENTS.md",
	".github/workflows" };

/* Whose own names must stay, or a watched name could be moved from under
 * its guard. */
static const char *const pinned[] = { ".git", ".github" };

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* One search: a directory open at each depth, and the path to the deepest. */
struct search {
	struct mounts *mounts;
	const struct masks_listener *listener;
	const char *at; /* the workspace, inside */
	uint64_t mount; /* the kernel's number of its mount */
	DIR *open[LIMIT_SEARCH_DEPTH + 1];
	size_t path_length[LIMIT_SEARCH_DEPTH + 1];
	size_t depth; /* how many are open */
	char path[PATH_MAX];
	unsigned entries;
};

/* ---- names ---- */

static bool
ends_with(const char *text, const char *end)
{
	size_t have = strlen(text), want = strlen(end);

	return have >= want && strcmp(text + have - want, end) == 0;
}

static bool
matches(const struct secret_name *secret, const char *name)
{
	size_t begin = strlen(secret->begins), end = strlen(secret->ends);

	if (secret->whole)
		return strcmp(name, secret->begins) == 0;
	return strlen(name) > begin + end &&
	       strncmp(name, secret->begins, begin) == 0 &&
	       ends_with(name, secret->ends);
}

static const struct secret_name *
find_secret(const char *name)
{
	for (size_t i = 0; i < COUNT(examples); i++)
		if (ends_with(name, examples[i]))
			return NULL;
	for (size_t i = 0; i < COUNT(secret_names); i++)
		if (matches(&secret_names[i], name))
			return &secret_names[i];
	return NULL;
}

/* What cannot be read here cannot be read by the sandbox either. */
static bool
holds_secret(int directory, const char *name, const struct secret_name *secret)
{
	ON_SCOPE_EXIT(fd_done) int fd = -1;
	char bytes[LIMIT_SEARCH_BYTES];
	ssize_t length;

	if (secret->needles[0] == NULL)
		return true;
	fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, bytes, sizeof(bytes));
	if (length < 0)
		return true;
	for (size_t i = 0; secret->needles[i] != NULL; i++)
		if (memmem(bytes, (size_t)length, secret->needles[i],
			strlen(secret->needles[i])) != NULL)
			return true;
	return false;
}

/* ---- hiding ---- */

static int
open_how(int directory, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_PATH | O_CLOEXEC,
		.resolve = resolve | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
}

static bool
mount_number(int fd, uint64_t *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0 ||
	    (st.stx_mask & STATX_MNT_ID) == 0)
		return false;
	*ret = st.stx_mnt_id;
	return true;
}

static int
hide(
    struct search *search, int target, const char *name, struct problem *reterr)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%s", search->path, name) >=
	    (int)sizeof(path))
		return problem_set(reterr, "a path is too long");
	if (mounts_hide(search->mounts, target) != STATUS_OK)
		return problem_errno(reterr, "cannot hide %s", path);
	search->listener->on_hidden(path, search->listener->arg);
	return STATUS_OK;
}

/* Where a link leads, seen from the sandbox's own root. */
static int
hide_link(struct search *search, const char *name, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int target = -1;
	char path[PATH_MAX];
	struct stat st;
	uint64_t mount;

	if (snprintf(path, sizeof(path), "%s/%s%s", search->at, search->path,
		name) >= (int)sizeof(path))
		return problem_set(reterr, "a path is too long");
	target = open_how(search->mounts->root, path, 0, RESOLVE_IN_ROOT);
	/* Dangling, or a loop: it leads nowhere. */
	if (target < 0)
		return STATUS_OK;
	if (fstat(target, &st) != 0 || !mount_number(target, &mount))
		return problem_errno(reterr, "cannot examine %s", path);
	/* Elsewhere: already hidden, or part of the view. */
	if (mount != search->mount)
		return STATUS_OK;
	return hide(search, target, name, reterr);
}

static int
hide_entry(struct search *search, int directory, const char *name,
    const struct stat *seen, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int target = -1;
	const struct secret_name *secret = find_secret(name);
	struct stat st;

	if (!S_ISSOCK(seen->st_mode) &&
	    (secret == NULL || !holds_secret(directory, name, secret)))
		return STATUS_OK;
	if (S_ISLNK(seen->st_mode))
		return hide_link(search, name, reterr);
	target = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (target < 0)
		return errno == ENOENT
			   ? STATUS_OK
			   : problem_errno(reterr, "cannot open %s", name);
	/* Changed just now, by somebody outside. */
	if (fstat(target, &st) != 0 || S_ISLNK(st.st_mode)) {
		(void)problem_set(
		    reterr, "%s changed while it was looked at", name);
		return problem_cure(reterr, "start again");
	}
	return hide(search, target, name, reterr);
}

/* ---- searching ---- */

static bool
is_skipped(const struct search *search, const char *name)
{
	/* "objects" only where git keeps them. */
	if (strcmp(name, "objects") == 0)
		return ends_with(search->path, ".git/");
	for (size_t i = 0; i < COUNT(skipped); i++)
		if (strcmp(name, skipped[i]) == 0)
			return true;
	return false;
}

/* Goes into a directory, unless the sandbox could not. */
static void
descend(struct search *search, int directory, const char *name)
{
	size_t used = strlen(search->path), length = strlen(name);
	DIR *stream;
	int fd;

	if (search->depth > LIMIT_SEARCH_DEPTH || is_skipped(search, name) ||
	    sizeof(search->path) - used < length + 2)
		return;
	fd = openat(
	    directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	stream = fdopendir(fd);
	if (stream == NULL) {
		(void)close(fd);
		return;
	}
	search->path_length[search->depth] = used;
	search->open[search->depth++] = stream;
	/* The top has no name of its own in the path. */
	if (strcmp(name, ".") != 0) {
		memcpy(search->path + used, name, length);
		memcpy(search->path + used + length, "/", 2);
	}
}

static void
ascend(struct search *search)
{
	search->depth--;
	(void)closedir(search->open[search->depth]);
	search->path[search->path_length[search->depth]] = '\0';
}

static int
look_at(struct search *search, const char *name, struct problem *reterr)
{
	int directory = dirfd(search->open[search->depth - 1]);
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return STATUS_OK;
	if (!S_ISDIR(st.st_mode))
		return hide_entry(search, directory, name, &st, reterr);
	descend(search, directory, name);
	return STATUS_OK;
}

static int
walk(struct search *search, struct problem *reterr)
{
	int status = STATUS_OK;

	while (status == STATUS_OK && search->depth > 0 &&
	       search->entries < LIMIT_SEARCH_ENTRIES) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
		const struct dirent *entry =
		    readdir(search->open[search->depth - 1]);

		search->entries++;
		if (entry == NULL)
			ascend(search);
		else
			status = look_at(search, entry->d_name, reterr);
	}
	if (search->depth > 0 && status == STATUS_OK)
		search->listener->on_degraded(
		    "the workspace has too many files to search them all for "
		    "secrets",
		    search->listener->arg);
	while (search->depth > 0)
		ascend(search);
	return status;
}

int
masks_hide(struct mounts *mounts, const char *at,
    const struct masks_listener *listener, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int top = -1;
	struct search search = {
		.mounts = mounts, .listener = listener, .at = at
	};
	int status = mounts_directory(mounts, at, 0755, &top, reterr);

	if (status != STATUS_OK)
		return status;
	if (!mount_number(top, &search.mount))
		return problem_errno(reterr, "cannot examine %s", at);
	descend(&search, top, ".");
	return walk(&search, reterr);
}

/* ---- watched names ---- */

/* Mounts a copy of a place over itself; what is not there needs none. */
static int
cover(int top, const char *name, uint64_t attributes,
    const struct masks_listener *listener, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done)
	int target =
	    open_how(top, name, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
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
		status = cover(top, pinned[i], 0, listener, reterr);
	for (size_t i = 0; status == STATUS_OK && i < COUNT(watched); i++)
		status =
		    cover(top, watched[i], MOUNT_ATTR_RDONLY, listener, reterr);
	return status;
}
