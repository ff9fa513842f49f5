#include "gateway/cli/splice.h"

#include <stdlib.h>
#include <string.h>

void
splices_done(struct splices *splices)
{
	if (splices == NULL)
		return;
	for (size_t i = 0; i < splices->count; i++)
		free(splices->list[i].text);
	free(splices->list);
	memset(splices, 0, sizeof(*splices));
}

bool
splices_add(struct splices *splices, const struct located *at, const char *text)
{
	struct splice *list = reallocarray(
	    splices->list, splices->count + 1, sizeof(*splices->list));
	struct splice splice = { .at = *at, .length = strlen(text) };

	if (list == NULL)
		return false;
	splices->list = list;
	splice.text = strdup(text);
	if (splice.text == NULL)
		return false;
	splices->list[splices->count++] = splice;
	return true;
}

void
splices_before_end(struct cursor text, struct located *at)
{
	size_t end = at->end - 1;

	for (size_t i = at->start; i < end; i++) {
		if ((text.at[i] & 0xc0) != 0x80)
			at->column++;
		if (text.at[i] != '\n')
			continue;
		at->line++;
		at->column = 1;
	}
	at->start = at->end = end;
}

static int
compare_splices(const void *a, const void *b)
{
	const struct splice *x = a, *y = b;

	if (x->at.start != y->at.start)
		return x->at.start < y->at.start ? -1 : 1;
	return 0;
}

static size_t
count_characters(struct cursor text, const struct located *at)
{
	size_t count = 0;

	for (size_t i = at->start; i < at->end; i++)
		count += (text.at[i] & 0xc0) != 0x80;
	return count;
}

bool
splices_apply(
    struct splices *splices, struct cursor text, char **ret, size_t *ret_length)
{
	size_t size = text.left, from = 0;
	struct cursor_writer out;
	char *made;

	if (splices->count > 0)
		qsort(splices->list, splices->count, sizeof(*splices->list),
		    compare_splices);
	for (size_t i = 0; i < splices->count; i++)
		size += splices->list[i].length;
	made = calloc(size + 1, 1);
	if (made == NULL)
		return false;
	out = cursor_writer_of(made, size);
	for (size_t i = 0; i < splices->count; i++) {
		struct splice *splice = &splices->list[i];

		splice->replaced = count_characters(text, &splice->at);
		cursor_put(&out, text.at + from, splice->at.start - from);
		cursor_put(&out, splice->text, splice->length);
		from = splice->at.end;
	}
	cursor_put(&out, text.at + from, text.left - from);
	*ret = made;
	*ret_length = out.used;
	return true;
}

unsigned
splices_column(const struct splices *splices, unsigned line, unsigned column)
{
	size_t shift = 0;

	for (size_t i = 0; i < splices->count; i++) {
		const struct splice *splice = &splices->list[i];
		size_t start = splice->at.column + shift;

		if (splice->at.line != line || column <= start)
			continue;
		if (column < start + splice->length)
			return splice->at.column;
		shift += splice->length - splice->replaced;
	}
	return (unsigned)(column - shift);
}
