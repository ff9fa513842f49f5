#include "gateway/files/change.h"

#include "gateway/files/same.h"
#include "gateway/files/sensitive.h"
#include "gateway/files/stack.h"
#include "schema/limits.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NS_A_SECOND INT64_C(1000000000)

static const char *const kind_names[] = {
	[CHANGE_DELETED] = "deleted",
	[CHANGE_ADDED] = "added",
	[CHANGE_CHANGED] = "changed",
};

static_assert(sizeof(kind_names) / sizeof(kind_names[0]) == CHANGE_KIND_COUNT,
    "every kind has a name");

static const char *const class_names[] = {
	[CHANGE_SAFE] = "safe",
	[CHANGE_REVIEW] = "review",
	[CHANGE_CONFLICT] = "conflict",
	[CHANGE_DROPPED] = "dropped",
};

static_assert(
    sizeof(class_names) / sizeof(class_names[0]) == CHANGE_CLASS_COUNT,
    "every class has a name");

static const char *const reason_words[] = {
	[CHANGE_PLAIN] = "",
	[CHANGE_WATCHED] = "programs outside would execute or obey it",
	[CHANGE_SECRET] = "it has a secret's name",
	[CHANGE_COVERS] = "it holds secrets, or settings that are obeyed",
	[CHANGE_LEADS_OUT] = "it is a link out of the workspace",
	[CHANGE_MEANWHILE] = "the workspace has changed there meanwhile",
	[CHANGE_SPECIAL] = "it is a pipe, a socket or a device",
};

static_assert(
    sizeof(reason_words) / sizeof(reason_words[0]) == CHANGE_REASON_COUNT,
    "every reason has words");

const char *
change_kind_name(enum change_kind kind)
{
	return kind_names[kind];
}

const char *change_class_name(enum change_class class)
{
	return class_names[class];
}

const char *
change_reason_words(enum change_reason reason)
{
	return reason_words[reason];
}

bool
change_is_newer(const struct stack *stack, const struct stat *base)
{
	return base->st_ctim.tv_sec * NS_A_SECOND + base->st_ctim.tv_nsec >
	       stack->base_ns;
}

static const char *
name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* Whether a link at path leads below the workspace, read as text. */
static bool
leads_out(const char *path, const char *target)
{
	int depth = 0;

	if (target[0] == '/')
		return true;
	for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
		depth++;
	while (*target != '\0') {
		size_t length = strcspn(target, "/");

		if (length == 2 && strncmp(target, "..", 2) == 0)
			depth--;
		else if (length > 0 && !(length == 1 && *target == '.'))
			depth++;
		if (depth < 0)
			return true;
		target += length + strspn(target + length, "/");
	}
	return false;
}

static bool
link_leads_out(int directory, const char *name, const char *path)
{
	char target[LIMIT_PATH];
	ssize_t length = readlinkat(directory, name, target, sizeof(target));

	if (length < 0 || (size_t)length >= sizeof(target))
		return true;
	target[length] = '\0';
	return leads_out(path, target);
}

static bool
is_secret(const struct change *change, const struct stack *stack,
    const char *path, int directory)
{
	const struct sensitive_needles *needles;

	if (stack_hides(stack, path))
		return true;
	if (!sensitive_is_secret(name_in(path), &needles))
		return false;
	return change->kind == CHANGE_DELETED || needles->list[0] == NULL ||
	       same_holds(directory, name_in(path), needles->list);
}

/* A repository's own folder is as good as what is put into it. */
static bool
is_watched(const char *path, const struct change *change)
{
	if (change->type == S_IFDIR && change->kind != CHANGE_DELETED &&
	    strcmp(name_in(path), ".git") == 0)
		return false;
	return sensitive_is_watched(path);
}

void
change_classify(struct change *change, const struct stack *stack,
    const char *path, int directory)
{
	change->class = CHANGE_REVIEW;
	if (change->type != S_IFREG && change->type != S_IFDIR &&
	    change->type != S_IFLNK && change->kind != CHANGE_DELETED) {
		change->class = CHANGE_DROPPED;
		change->reason = CHANGE_SPECIAL;
	} else if (is_watched(path, change)) {
		change->reason = CHANGE_WATCHED;
	} else if (is_secret(change, stack, path, directory)) {
		change->reason = CHANGE_SECRET;
	} else if (change->type == S_IFLNK && change->kind != CHANGE_DELETED &&
		   link_leads_out(directory, name_in(path), path)) {
		change->reason = CHANGE_LEADS_OUT;
	} else {
		change->class = CHANGE_SAFE;
		change->reason = CHANGE_PLAIN;
	}
}

void
change_conflicts(struct change *change)
{
	if (change->class == CHANGE_DROPPED)
		return;
	change->class = CHANGE_CONFLICT;
	change->reason = CHANGE_MEANWHILE;
}
