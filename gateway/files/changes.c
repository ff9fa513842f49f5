/*
 * A walk in breadth: a queue of directories to merge, by path, so that no
 * depth costs descriptors.  For each one the names of all trees that take
 * part in it are listed and sorted; the topmost entry of a name counts.
 */
#include "gateway/files/changes.h"

#include "gateway/files/beneath.h"
#include "gateway/files/copy.h"
#include "gateway/files/removed.h"
#include "gateway/files/same.h"
#include "gateway/files/stack.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FIRST_ROOM 64
#define PERMISSIONS 01777

/* One name in one tree; the base comes behind all trees. */
struct entry {
	char *name; /* owned */
	size_t tree;
};

/* One directory that is to be merged. */
struct merge {
	char *path; /* owned; empty for the top */
	bool trees[LIMIT_STACK + 1]; /* which take part */
	bool on_base; /* nothing above hides the base's */
	size_t hider; /* else: which tree does */
};

struct walk {
	const struct stack *stack;
	const struct changes_wish *wish;
	struct changes changes;
	size_t room;
	struct merge *queue;
	size_t first, count, queue_room;
	/* The directory under way: opened, -1 for who takes no part. */
	struct merge at;
	int trees[LIMIT_STACK + 1];
	int base;
	struct entry *entries;
	size_t entry_count, entry_room;
};

/* ---- lists that grow ---- */

static int
grow(void **list, size_t *room, size_t size)
{
	size_t more = *room == 0 ? FIRST_ROOM : *room * 2;
	void *larger = reallocarray(*list, more, size);

	if (larger == NULL)
		return STATUS_NO_MEMORY;
	*list = larger;
	*room = more;
	return STATUS_OK;
}

static bool
is_within(const char *path, const char *top)
{
	size_t length = strlen(top);

	return length == 0 ||
	       (strncmp(path, top, length) == 0 &&
		   (path[length] == '\0' || path[length] == '/'));
}

static bool
is_asked_for(const struct changes_wish *wish, const char *path)
{
	for (size_t i = 0; i < wish->only_count; i++)
		if (is_within(path, wish->only[i]))
			return true;
	return wish->only_count == 0;
}

/* Whether something that is asked for may lie below path. */
static bool
leads_to_asked(const struct changes_wish *wish, const char *path)
{
	for (size_t i = 0; i < wish->only_count; i++)
		if (is_within(wish->only[i], path))
			return true;
	return is_asked_for(wish, path);
}

static int
add_change(struct walk *walk, const char *path, const struct change *change)
{
	struct changes *changes = &walk->changes;
	void *list = changes->list;
	char *own;

	if (!is_asked_for(walk->wish, path))
		return STATUS_OK;
	if (!walk->wish->large &&
	    (changes->count >= LIMIT_CHANGES ||
		change->size > LIMIT_CHANGE_BYTES - changes->bytes)) {
		changes->cut = true;
		return STATUS_OK;
	}
	if (changes->count == walk->room) {
		if (grow(&list, &walk->room, sizeof(*changes->list)) !=
		    STATUS_OK)
			return STATUS_NO_MEMORY;
		changes->list = list;
	}
	own = strdup(path);
	if (own == NULL)
		return STATUS_NO_MEMORY;
	changes->list[changes->count] = *change;
	changes->list[changes->count++].path = own;
	changes->bytes += change->size;
	return STATUS_OK;
}

static int
add_merge(struct walk *walk, const struct merge *merge)
{
	void *list = walk->queue;
	char *path;

	if (!leads_to_asked(walk->wish, merge->path))
		return STATUS_OK;
	if (walk->count == walk->queue_room) {
		if (grow(&list, &walk->queue_room, sizeof(*walk->queue)) !=
		    STATUS_OK)
			return STATUS_NO_MEMORY;
		walk->queue = list;
	}
	path = strdup(merge->path);
	if (path == NULL)
		return STATUS_NO_MEMORY;
	walk->queue[walk->count] = *merge;
	walk->queue[walk->count++].path = path;
	return STATUS_OK;
}

/* ---- the names of one directory ---- */

static int
add_entry(struct walk *walk, const char *name, size_t tree)
{
	void *list = walk->entries;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return STATUS_OK;
	if (walk->entry_count == walk->entry_room) {
		if (grow(&list, &walk->entry_room, sizeof(*walk->entries)) !=
		    STATUS_OK)
			return STATUS_NO_MEMORY;
		walk->entries = list;
	}
	walk->entries[walk->entry_count].name = strdup(name);
	if (walk->entries[walk->entry_count].name == NULL)
		return STATUS_NO_MEMORY;
	walk->entries[walk->entry_count++].tree = tree;
	return STATUS_OK;
}

static int
list_names(struct walk *walk, int directory, size_t tree)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int status = STATUS_OK;

	if (stream == NULL) {
		fd_done(&fd);
		return STATUS_SYSTEM;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (status == STATUS_OK && (entry = readdir(stream)) != NULL)
		status = add_entry(walk, entry->d_name, tree);
	(void)closedir(stream);
	return status;
}

static int
compare_entries(const void *a, const void *b)
{
	const struct entry *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	if (order != 0)
		return order;
	return one->tree < other->tree ? -1 : one->tree > other->tree;
}

static int
open_directory(int top, const char *path)
{
	return beneath_open(
	    top, path[0] == '\0' ? "." : path, O_PATH | O_DIRECTORY);
}

/*
 * The base's own names matter only where a directory of a tree stands in the
 * place of its; a hidden one's are not the run's to remove.
 */
static int
open_merge(struct walk *walk)
{
	const struct merge *at = &walk->at;
	const struct stack *stack = walk->stack;
	int status = STATUS_OK;

	walk->base = open_directory(stack->base, at->path);
	for (size_t i = 0; i < stack->count; i++)
		walk->trees[i] = at->trees[i]
				     ? open_directory(stack->trees[i], at->path)
				     : -1;
	for (size_t i = 0; status == STATUS_OK && i < stack->count; i++) {
		if (!at->trees[i])
			continue;
		status = walk->trees[i] < 0
			     ? STATUS_SYSTEM
			     : list_names(walk, walk->trees[i], i);
	}
	if (status == STATUS_OK && walk->base >= 0 && !at->on_base &&
	    !stack_hides(stack, at->path))
		status = list_names(walk, walk->base, stack->count);
	if (walk->entry_count > 1)
		qsort(walk->entries, walk->entry_count, sizeof(*walk->entries),
		    compare_entries);
	return status;
}

static void
close_merge(struct walk *walk)
{
	for (size_t i = 0; i < walk->stack->count; i++)
		fd_done(&walk->trees[i]);
	fd_done(&walk->base);
	for (size_t i = 0; i < walk->entry_count; i++)
		free(walk->entries[i].name);
	walk->entry_count = 0;
	free(STEAL(walk->at.path));
}

/* ---- one name ---- */

/* What is known of it: as the run saw it, and as the base has it. */
struct name {
	const char *name;
	char path[LIMIT_PATH];
	const struct entry *entries; /* the topmost first */
	size_t count;
	struct stat top, base;
	bool has_base;
};

static int
report_deleted(struct walk *walk, const struct name *name)
{
	struct change change = { .kind = CHANGE_DELETED,
		.type = name->base.st_mode & S_IFMT };
	int status = STATUS_OK;

	if (stack_hides(walk->stack, name->path))
		return STATUS_OK;
	change_classify(&change, walk->stack, name->path, walk->base);
	if (change.type == S_IFDIR)
		status = removed_look(walk->stack, name->path, &change);
	else if (change_is_newer(walk->stack, &name->base))
		change_conflicts(&change);
	return status == STATUS_OK ? add_change(walk, name->path, &change)
				   : status;
}

static bool
is_same(const struct walk *walk, const struct name *name)
{
	const struct stat *top = &name->top, *base = &name->base;
	int directory = walk->trees[name->entries[0].tree];

	if (((top->st_mode ^ base->st_mode) & S_IFMT) != 0)
		return false;
	if (S_ISLNK(top->st_mode))
		return same_links(
		    directory, name->name, walk->base, name->name);
	if (((top->st_mode ^ base->st_mode) & PERMISSIONS) != 0)
		return false;
	return S_ISDIR(top->st_mode) ||
	       (S_ISREG(top->st_mode) && top->st_size == base->st_size &&
		   same_files(directory, name->name, walk->base, name->name));
}

/* A file of the base was written to, and then the base's went away. */
static bool
lost_its_base(const struct walk *walk, const struct name *name)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = beneath_open(walk->trees[name->entries[0].tree], name->name,
	    O_PATH | O_NOFOLLOW);
	char path[64];

	return name->count == 1 && fd >= 0 &&
	       snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) > 0 &&
	       getxattr(path, "user.overlay.origin", NULL, 0) >= 0;
}

/* A folder that is new is no more the run's own once it is in the base. */
static bool
is_movable(const struct walk *walk, size_t tree)
{
	return tree == 0 &&
	       (walk->at.on_base || (walk->at.hider == 0 && walk->base < 0));
}

static int
report_present(struct walk *walk, const struct name *name)
{
	size_t tree = name->entries[0].tree;
	struct change change = { .kind = CHANGE_ADDED,
		.type = name->top.st_mode & S_IFMT,
		.mode = name->top.st_mode & PERMISSIONS,
		.size = S_ISREG(name->top.st_mode) ? (uint64_t)name->top.st_size
						   : 0,
		.tree = tree,
		.movable = is_movable(walk, tree) };
	bool replaces =
	    name->has_base &&
	    ((name->top.st_mode ^ name->base.st_mode) & S_IFMT) != 0;
	int status = STATUS_OK;

	if (name->has_base && is_same(walk, name))
		return STATUS_OK;
	if (replaces)
		status = report_deleted(walk, name);
	else if (name->has_base)
		change.kind = CHANGE_CHANGED;
	if (status != STATUS_OK)
		return status;
	change_classify(&change, walk->stack, name->path, walk->trees[tree]);
	if (name->has_base
		? change.type != S_IFDIR &&
		      change_is_newer(walk->stack, &name->base)
		: change.type == S_IFREG && lost_its_base(walk, name))
		change_conflicts(&change);
	return add_change(walk, name->path, &change);
}

/* A directory that the run closed even to itself: we must look into it. */
static void
unlock(int directory, const struct name *name)
{
	if (name->entries[0].tree == 0 &&
	    (name->top.st_mode & S_IRWXU) != S_IRWXU)
		(void)!copy_mode(
		    directory, name->name, name->top.st_mode | S_IRWXU);
}

/* Which trees take part below, until one hides the rest. */
static int
descend(struct walk *walk, struct name *name)
{
	struct merge merge = { .path = name->path,
		.on_base = walk->at.on_base,
		.hider = walk->at.hider };

	unlock(walk->trees[name->entries[0].tree], name);
	for (size_t i = 0; i < name->count; i++) {
		size_t tree = name->entries[i].tree;
		ON_SCOPE_EXIT(fd_done) int fd = -1;

		if (tree == walk->stack->count)
			continue;
		fd = beneath_open(
		    walk->trees[tree], name->name, O_PATH | O_DIRECTORY);
		if (fd < 0 && errno != ENOTDIR && errno != ELOOP)
			return STATUS_SYSTEM;
		merge.trees[tree] = fd >= 0;
		if (fd >= 0 && !stack_is_opaque(fd))
			continue;
		if (merge.on_base)
			merge.hider = tree;
		merge.on_base = false;
		break;
	}
	return add_merge(walk, &merge);
}

static int
fill_name(const struct walk *walk, struct name *name)
{
	const char *folder = walk->at.path;
	const struct entry *top = &name->entries[0];

	name->name = top->name;
	if (snprintf(name->path, sizeof(name->path), "%s%s%s", folder,
		folder[0] == '\0' ? "" : "/",
		top->name) >= (int)sizeof(name->path))
		return STATUS_TOO_LONG;
	name->has_base =
	    walk->base >= 0 && fstatat(walk->base, top->name, &name->base,
				   AT_SYMLINK_NOFOLLOW) == 0;
	if (top->tree == walk->stack->count)
		return STATUS_OK;
	return fstatat(walk->trees[top->tree], top->name, &name->top,
		   AT_SYMLINK_NOFOLLOW) == 0
		   ? STATUS_OK
		   : STATUS_SYSTEM;
}

static int
look_at(struct walk *walk, const struct entry *entries, size_t count)
{
	struct name name = { .entries = entries, .count = count };
	int status = fill_name(walk, &name);

	if (status != STATUS_OK)
		return status;
	if (entries[0].tree == walk->stack->count ||
	    stack_is_whiteout(&name.top))
		return name.has_base ? report_deleted(walk, &name) : STATUS_OK;
	status = report_present(walk, &name);
	if (status == STATUS_OK && S_ISDIR(name.top.st_mode))
		status = descend(walk, &name);
	return status;
}

static int
merge_one(struct walk *walk)
{
	int status;

	walk->at = walk->queue[walk->first];
	walk->queue[walk->first++].path = NULL;
	status = open_merge(walk);
	for (size_t i = 0, next;
	     status == STATUS_OK && i < walk->entry_count && !walk->changes.cut;
	     i = next) {
		next = i + 1;
		while (next < walk->entry_count &&
		       strcmp(walk->entries[i].name,
			   walk->entries[next].name) == 0)
			next++;
		status = look_at(walk, &walk->entries[i], next - i);
	}
	close_merge(walk);
	return status;
}

static int
compare_changes(const void *a, const void *b)
{
	const struct change *one = a, *other = b;
	int order = strcmp(one->path, other->path);

	return order != 0 ? order : (int)one->kind - (int)other->kind;
}

int
changes_collect(const struct stack *stack, const struct changes_wish *wish,
    struct changes *ret, struct problem *reterr)
{
	struct walk walk = { .stack = stack, .wish = wish, .base = -1 };
	struct merge top = { .path = unconst(""), .on_base = true };
	int status;

	for (size_t i = 0; i < stack->count; i++) {
		top.trees[i] = true;
		walk.trees[i] = -1;
	}
	status = add_merge(&walk, &top);
	while (
	    status == STATUS_OK && walk.first < walk.count && !walk.changes.cut)
		status = merge_one(&walk);
	while (walk.first < walk.count)
		free(walk.queue[walk.first++].path);
	free(walk.queue);
	free(walk.entries);
	if (status != STATUS_OK) {
		changes_done(&walk.changes);
		return status == STATUS_SYSTEM
			   ? problem_errno(reterr, "cannot read what changed")
			   : problem_set(reterr, "cannot read what changed: %s",
				 status_name(status));
	}
	if (walk.changes.count > 1)
		qsort(walk.changes.list, walk.changes.count,
		    sizeof(*walk.changes.list), compare_changes);
	*ret = walk.changes;
	return STATUS_OK;
}

void
changes_done(struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		free(changes->list[i].path);
	free(changes->list);
	*changes = (struct changes){ .list = NULL };
}

size_t
changes_count(const struct changes *changes, enum change_class class)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		count += changes->list[i].class == class;
	return count;
}
