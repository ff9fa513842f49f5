#include "gateway/cli/difference.h"

#include "gateway/cli/outlet.h"
#include "gateway/cli/showing.h"
#include "gateway/files/beneath.h"
#include "gateway/files/changes.h"
#include "gateway/files/stack.h"
#include "gateway/files/unified.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct printer {
	FILE *out;
	bool to_person;
};

static void
put_path(const struct printer *printer, const char *path)
{
	if (printer->to_person)
		showing_path(printer->out, path);
	else
		(void)fputs(path, printer->out);
}

static void
on_line(char mark, struct cursor line, void *arg)
{
	const struct printer *printer = arg;

	if (mark != '@')
		(void)fputc(mark, printer->out);
	if (printer->to_person)
		showing_line(printer->out, (const char *)line.at, line.left);
	else
		(void)fwrite(line.at, 1, line.left, printer->out);
	(void)fputc('\n', printer->out);
}

/* ---- what a file holds ---- */

/* Owned bytes; empty when there is nothing of the kind to show. */
struct content {
	unsigned char *bytes;
	size_t length;
	bool shown; /* it can be: a text that is not too long, or a link */
};

static void
content_done(struct content *content)
{
	free(content->bytes);
}

static void
read_link(int top, const char *path, struct content *content)
{
	const char *name;
	ON_SCOPE_EXIT(fd_done) int parent = beneath_parent(top, path, &name);
	ssize_t length = parent < 0 ? -1
				    : readlinkat(parent, name,
					  (char *)content->bytes, LIMIT_PATH);

	content->shown = length >= 0;
	content->length = length < 0 ? 0 : (size_t)length;
}

static void
read_file(int top, const char *path, struct content *content)
{
	ON_SCOPE_EXIT(fd_done)
	int fd = beneath_open(top, path, O_RDONLY | O_NONBLOCK);
	ssize_t got = 1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > LIMIT_DIFF_BYTES)
		return;
	while (content->length < LIMIT_DIFF_BYTES && got > 0) {
		got = read(fd, content->bytes + content->length,
		    LIMIT_DIFF_BYTES - content->length);
		if (got > 0)
			content->length += (size_t)got;
	}
	content->shown = got >= 0 && unified_is_text(cursor_of(
					 content->bytes, content->length));
}

static int
content_of(int top, const char *path, mode_t type, struct content *ret)
{
	*ret = (struct content){ .bytes = malloc(LIMIT_DIFF_BYTES) };
	if (ret->bytes == NULL)
		return STATUS_NO_MEMORY;
	if (type == S_IFLNK)
		read_link(top, path, ret);
	else if (type == S_IFREG)
		read_file(top, path, ret);
	return STATUS_OK;
}

/* ---- one change ---- */

static const char *
noun_of(mode_t type)
{
	switch (type) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "folder";
	case S_IFLNK:
		return "link";
	default:
		return "special file";
	}
}

/* A line that patch(1) passes over. */
static void
put_words(const struct printer *printer, const struct change *change)
{
	(void)fprintf(printer->out, "exeat: %s %s ",
	    change_kind_name(change->kind), noun_of(change->type));
	put_path(printer, change->path);
	if (change->class != CHANGE_SAFE)
		(void)fprintf(printer->out, " (%s: %s)",
		    change_class_name(change->class),
		    change_reason_words(change->reason));
	(void)fputc('\n', printer->out);
}

static void
put_name(const struct printer *printer, const char *mark, const char *side,
    const char *path)
{
	(void)fprintf(printer->out, "%s ", mark);
	if (side == NULL) {
		(void)fputs("/dev/null", printer->out);
	} else {
		(void)fprintf(printer->out, "%s/", side);
		put_path(printer, path);
	}
	(void)fputc('\n', printer->out);
}

static int
put_texts(const struct printer *printer, const struct change *change,
    const struct content *from, const struct content *to)
{
	bool added = change->kind == CHANGE_ADDED;
	bool deleted = change->kind == CHANGE_DELETED;

	if ((!from->shown && !added) || (!to->shown && !deleted)) {
		(void)fprintf(printer->out,
		    "exeat: not shown: no text, or longer than 1 MiB"
		    " (%" PRIu64 " bytes)\n",
		    change->size);
		return STATUS_OK;
	}
	put_name(printer, "---", added ? NULL : "a", change->path);
	put_name(printer, "+++", deleted ? NULL : "b", change->path);
	return unified_print(cursor_of(from->bytes, from->length),
	    cursor_of(to->bytes, to->length), on_line, unconst(printer));
}

static int
put_change(const struct printer *printer, const struct stack *stack,
    const struct change *change)
{
	ON_SCOPE_EXIT(content_done) struct content from = { .bytes = NULL };
	ON_SCOPE_EXIT(content_done) struct content to = { .bytes = NULL };
	int status;

	put_words(printer, change);
	if (change->type != S_IFREG && change->type != S_IFLNK)
		return STATUS_OK;
	status = content_of(stack->base, change->path,
	    change->kind == CHANGE_ADDED ? 0 : change->type, &from);
	if (status == STATUS_OK)
		status = content_of(stack->trees[change->tree], change->path,
		    change->kind == CHANGE_DELETED ? 0 : change->type, &to);
	if (status != STATUS_OK)
		return status;
	return put_texts(printer, change, &from, &to);
}

int
difference_print(
    FILE *out, const struct stack *stack, const struct changes *changes)
{
	const struct printer printer = { .out = out,
		.to_person = isatty(fileno(out)) == 1 };
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < changes->count; i++)
		status = put_change(&printer, stack, &changes->list[i]);
	return status;
}

void
difference_list(FILE *out, const struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];

		(void)fprintf(out, "%-8s  %-7s  ",
		    change_class_name(change->class),
		    change_kind_name(change->kind));
		/* One change, one line: whoever reads it. */
		showing_path(out, change->path);
		(void)fprintf(out, "%s%s%s\n",
		    change->type == S_IFDIR ? "/" : "",
		    change->reason == CHANGE_PLAIN ? "" : "  ",
		    change_reason_words(change->reason));
	}
}

int
difference_json(const struct changes *changes)
{
	struct outlet *outlet = outlet_new();

	if (outlet == NULL)
		return STATUS_NO_MEMORY;
	json_open(&outlet->json, NULL, '[');
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];

		json_open(&outlet->json, NULL, '{');
		json_text(&outlet->json, "path", change->path);
		json_text(
		    &outlet->json, "kind", change_kind_name(change->kind));
		json_text(
		    &outlet->json, "class", change_class_name(change->class));
		json_text(&outlet->json, "reason",
		    change_reason_words(change->reason));
		json_text(&outlet->json, "type", noun_of(change->type));
		json_number(&outlet->json, "size", (int64_t)change->size);
		json_close(&outlet->json, '}');
		outlet_flush(outlet);
	}
	json_close(&outlet->json, ']');
	outlet_end(outlet);
	free(outlet);
	return STATUS_OK;
}
