#include "gateway/files/stack.h"

#include "gateway/files/beneath.h"
#include "gateway/files/box.h"
#include "gateway/proc/fd.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Adds a folder's list of hidden paths to the text. */
static int
read_hidden(struct stack *stack, int folder, size_t *used)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = openat(folder, "hidden", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	char *text;
	size_t size;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) != 0)
		return STATUS_SYSTEM;
	if (st.st_size > LIMIT_HIDDEN_BYTES)
		return STATUS_TOO_LONG;
	size = (size_t)st.st_size;
	text = realloc(stack->hidden_text, *used + size + 1);
	if (text == NULL)
		return STATUS_NO_MEMORY;
	stack->hidden_text = text;
	got = size == 0 ? 0 : read(fd, text + *used, size);
	if (got != (ssize_t)size)
		return STATUS_SYSTEM;
	*used += size;
	return STATUS_OK;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Finds the paths in the text; a last one without its NUL is none. */
static int
sort_hidden(struct stack *stack, size_t used)
{
	size_t count = 0;

	for (size_t i = 0; i < used; i++)
		count += stack->hidden_text[i] == '\0';
	stack->hidden = calloc(count + 1, sizeof(*stack->hidden));
	if (stack->hidden == NULL)
		return STATUS_NO_MEMORY;
	for (size_t at = 0; stack->hidden_count < count;
	     at += strlen(stack->hidden_text + at) + 1)
		stack->hidden[stack->hidden_count++] = stack->hidden_text + at;
	if (count > 1)
		qsort(stack->hidden, count, sizeof(*stack->hidden), compare);
	return STATUS_OK;
}

static int
add_tree(struct stack *stack, int folder, const char *name, size_t *used)
{
	int tree = beneath_open(folder, name, O_PATH | O_DIRECTORY);

	if (tree < 0)
		return STATUS_SYSTEM;
	stack->trees[stack->count++] = tree;
	return read_hidden(stack, folder, used);
}

static int
add_layer(struct stack *stack, const struct box *box, const char *name,
    size_t *used, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int folder = -1;
	char path[LIMIT_PATH];

	if (snprintf(path, sizeof(path), "%s/layers/%s", box->store, name) >=
	    (int)sizeof(path))
		return problem_set(reterr, "a layer's path is too long");
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (folder < 0 || add_tree(stack, folder, "tree", used) != STATUS_OK)
		return problem_errno(reterr, "cannot read the layer %s", name);
	return STATUS_OK;
}

static int
open_base(struct stack *stack, const struct manifest *manifest,
    struct problem *reterr)
{
	struct stat st;

	stack->base = open(
	    manifest->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (stack->base < 0 || fstat(stack->base, &st) != 0)
		return problem_errno(reterr, "cannot open the workspace %s",
		    manifest->workspace);
	if (st.st_dev == manifest->device && st.st_ino == manifest->inode)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "%s is not the folder that the run began with",
	    manifest->workspace);
	return problem_cure(reterr,
	    "put that one back in its place, or take the files out of the "
	    "run with exeat diff --tar");
}

static int
open_all(struct stack *stack, const struct box *box, struct problem *reterr)
{
	const struct manifest *manifest = &box->manifest;
	size_t used = 0;
	int status = open_base(stack, manifest, reterr);

	if (status == STATUS_OK &&
	    add_tree(stack, box->folder, "upper", &used) != STATUS_OK)
		status = problem_errno(
		    reterr, "cannot read what %s wrote", manifest->name);
	for (size_t i = 0; status == STATUS_OK && i < manifest->layer_count;
	     i++)
		status =
		    add_layer(stack, box, manifest->layers[i], &used, reterr);
	if (status == STATUS_OK && sort_hidden(stack, used) != STATUS_OK)
		status = problem_set(reterr, "there is no memory");
	return status;
}

int
stack_open(const struct box *box, struct stack *ret, struct problem *reterr)
{
	struct stack stack = { .base = -1, .base_ns = box->manifest.base_ns };
	int status = open_all(&stack, box, reterr);

	if (status != STATUS_OK) {
		stack_done(&stack);
		return status;
	}
	*ret = stack;
	return STATUS_OK;
}

void
stack_done(struct stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		fd_done(&stack->trees[i]);
	stack->count = 0;
	fd_done(&stack->base);
	free(STEAL(stack->hidden));
	free(STEAL(stack->hidden_text));
	stack->hidden_count = 0;
}

static bool
is_hidden(const struct stack *stack, const char *path)
{
	return bsearch(&path, stack->hidden, stack->hidden_count,
		   sizeof(*stack->hidden), compare) != NULL;
}

bool
stack_hides(const struct stack *stack, const char *path)
{
	char part[LIMIT_PATH];

	for (size_t i = 0; i < sizeof(part) - 1 && path[i] != '\0'; i++) {
		if (path[i] == '/') {
			part[i] = '\0';
			if (is_hidden(stack, part))
				return true;
		}
		part[i] = path[i];
	}
	return is_hidden(stack, path);
}

bool
stack_hides_below(const struct stack *stack, const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < stack->hidden_count; i++)
		if (strncmp(stack->hidden[i], path, length) == 0 &&
		    stack->hidden[i][length] == '/')
			return true;
	return false;
}

bool
stack_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == 0;
}

bool
stack_is_opaque(int fd)
{
	char path[64], value = 0;

	/* Of a descriptor that is only a path, by the name it has here. */
	if (snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) < 0)
		return false;
	return getxattr(path, "user.overlay.opaque", &value, 1) == 1 &&
	       value == 'y';
}
