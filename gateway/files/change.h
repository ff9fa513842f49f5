/*
 * change - one entry that a run changed, and whether a person must be asked.
 *
 *	safe      a file of the project
 *	review    something outside would execute it, it is or covers a secret,
 *	          a link that leads out: only a person says yes to that
 *	conflict  the base was changed since the run began
 *	dropped   a pipe, socket or device, which never leaves the sandbox
 */
#ifndef GATEWAY_FILES_CHANGE_H
#define GATEWAY_FILES_CHANGE_H

#include "schema/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct stack;
struct stat;

enum change_kind {
	CHANGE_DELETED, /* comes first where one path has two changes */
	CHANGE_ADDED,
	CHANGE_CHANGED,
	CHANGE_KIND_COUNT
};

enum change_class {
	CHANGE_SAFE,
	CHANGE_REVIEW,
	CHANGE_CONFLICT,
	CHANGE_DROPPED,
	CHANGE_CLASS_COUNT
};

enum change_reason {
	CHANGE_PLAIN,
	CHANGE_WATCHED, /* programs outside execute or obey it */
	CHANGE_SECRET, /* it has a secret's name, or was hidden */
	CHANGE_COVERS, /* a folder that is gone held one of these */
	CHANGE_LEADS_OUT, /* a link out of the workspace */
	CHANGE_MEANWHILE, /* the base changed */
	CHANGE_SPECIAL,
	CHANGE_REASON_COUNT
};

const char *change_kind_name(enum change_kind kind);
const char *change_class_name(enum change_class class);

/* In words, for a person; empty for a plain one. */
const char *change_reason_words(enum change_reason reason);

struct change {
	char *path; /* owned, below the workspace */
	enum change_kind kind;
	enum change_class class;
	enum change_reason reason;
	mode_t type; /* S_IFREG, S_IFDIR, S_IFLNK ... */
	mode_t mode; /* permissions */
	uint64_t size;
	size_t tree; /* of the stack, where its content is */
	/*
	 * It may be taken out of its tree.  Where a folder of the trees hides
	 * the base's, what is missing in it means that it was deleted.
	 */
	bool movable;
};

/*
 * Sets the class and reason of what is at path.  directory is where it lies:
 * in a tree of the stack, or in the base when it was deleted.
 */
void change_classify(struct change *change, const struct stack *stack,
    const char *path, int directory);

/* A class that a person could say yes to gives way to a conflict. */
void change_conflicts(struct change *change);

/* Whether base, as it is now, was changed since the run began. */
bool change_is_newer(const struct stack *stack, const struct stat *base);

#endif
