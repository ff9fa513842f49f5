/*
 * Three steps: the texts as lists of lines, an edit script over the lines
 * between their common beginning and end, and its hunks.
 *
 * For d = 0, 1, ... edits the furthest line of "from" is kept that can be
 * reached on each diagonal (to - from); each round is kept, and from the end
 * the way is walked back.
 */
#include "gateway/files/unified.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT 3
#define CONTEXT_TWICE 6 /* less between two edits is shown */
#define TEXT_BEGINNING 8000

struct lines {
	struct cursor *list;
	size_t count;
	bool ends; /* the last line has its end */
};

/* What happens to the lines of both texts, in order. */
struct script {
	char *marks; /* ' ', '-', '+' */
	size_t count;
};

struct diff {
	struct lines from, to;
	size_t before, behind; /* lines that both begin and end with */
	struct script script;
};

bool
unified_is_text(struct cursor bytes)
{
	size_t length =
	    bytes.left < TEXT_BEGINNING ? bytes.left : TEXT_BEGINNING;

	return length == 0 || memchr(bytes.at, '\0', length) == NULL;
}

static int
split(struct cursor text, struct lines *ret)
{
	size_t count = 1;

	for (size_t i = 0; i < text.left; i++)
		count += text.at[i] == '\n';
	ret->list = calloc(count, sizeof(*ret->list));
	if (ret->list == NULL)
		return STATUS_NO_MEMORY;
	while (cursor_until(&text, '\n', &ret->list[ret->count]))
		ret->count++;
	ret->ends = text.left == 0;
	if (!ret->ends)
		ret->list[ret->count++] = text;
	return STATUS_OK;
}

/* A last line without its end differs from one that has it. */
static bool
is_same(const struct diff *diff, size_t from, size_t to)
{
	const struct cursor *one = &diff->from.list[from];
	const struct cursor *other = &diff->to.list[to];
	bool one_ends = diff->from.ends || from + 1 < diff->from.count;
	bool other_ends = diff->to.ends || to + 1 < diff->to.count;

	return one->left == other->left && one_ends == other_ends &&
	       (one->left == 0 || memcmp(one->at, other->at, one->left) == 0);
}

static void
trim(struct diff *diff)
{
	size_t from = diff->from.count, to = diff->to.count;

	while (diff->before < from && diff->before < to &&
	       is_same(diff, diff->before, diff->before))
		diff->before++;
	while (diff->behind < from - diff->before &&
	       diff->behind < to - diff->before &&
	       is_same(diff, from - diff->behind - 1, to - diff->behind - 1))
		diff->behind++;
}

/* ---- the shortest script of the middle ---- */

struct search {
	const struct diff *diff;
	long from, to; /* lines of the middle */
	long **rounds; /* for each d: 2d + 1 furthest lines */
	long count;
};

/* On diagonal k of the round before d; -1 where it was not reached. */
static long
reached(const struct search *search, long d, long k)
{
	if (d < 0 || k < -d || k > d)
		return -1;
	return search->rounds[d][k + d];
}

/* Whether the best way to diagonal k is down: a line of "to" added. */
static bool
comes_down(const struct search *search, long d, long k)
{
	return k == -d || (k != d && reached(search, d - 1, k - 1) <
					 reached(search, d - 1, k + 1));
}

/* One diagonal of one round: the edit, and then all that is the same. */
static long
follow(const struct search *search, long d, long k)
{
	size_t skip = search->diff->before;
	long x = 0;

	if (d > 0)
		x = comes_down(search, d, k)
			? reached(search, d - 1, k + 1)
			: reached(search, d - 1, k - 1) + 1;
	while (x < search->from && x - k >= 0 && x - k < search->to &&
	       is_same(search->diff, skip + (size_t)x, skip + (size_t)(x - k)))
		x++;
	return x;
}

/* STATUS_FULL when there are too many edits. */
static int
find(struct search *search)
{
	for (long d = 0; d <= LIMIT_DIFF_EDITS; d++) {
		long *round = calloc((size_t)(2 * d + 1), sizeof(*round));

		if (round == NULL)
			return STATUS_NO_MEMORY;
		search->rounds[d] = round;
		search->count = d + 1;
		for (long k = -d; k <= d; k += 2) {
			round[k + d] = follow(search, d, k);
			if (round[k + d] >= search->from &&
			    round[k + d] - k >= search->to)
				return STATUS_OK;
		}
	}
	return STATUS_FULL;
}

/* From the end to the beginning; marks are filled from behind. */
static void
walk_back(const struct search *search, char *marks, size_t length)
{
	long x = search->from, y = search->to;

	for (long d = search->count - 1; d >= 0; d--) {
		long k = x - y;
		bool down = d > 0 && comes_down(search, d, k);
		long before =
		    d == 0 ? 0
			   : reached(search, d - 1, down ? k + 1 : k - 1) +
				 (down ? 0 : 1);

		for (; x > before; x--, y--)
			marks[--length] = ' ';
		if (d == 0)
			return;
		marks[--length] = down ? '+' : '-';
		if (down)
			y--;
		else
			x--;
	}
}

static int
find_middle(const struct diff *diff, char *marks, size_t *ret_count)
{
	struct search search = { .diff = diff,
		.from = (long)(diff->from.count - diff->before - diff->behind),
		.to = (long)(diff->to.count - diff->before - diff->behind) };
	size_t edits;
	int status;

	search.rounds = calloc(LIMIT_DIFF_EDITS + 1, sizeof(*search.rounds));
	if (search.rounds == NULL)
		return STATUS_NO_MEMORY;
	status = find(&search);
	if (status == STATUS_OK) {
		/* The same lines, once; each edit is a line of one text. */
		edits = (size_t)(search.count - 1);
		*ret_count = ((size_t)(search.from + search.to) + edits) / 2;
		walk_back(&search, marks, *ret_count);
	} else if (status == STATUS_FULL) {
		*ret_count = (size_t)(search.from + search.to);
		memset(marks, '-', (size_t)search.from);
		memset(marks + search.from, '+', (size_t)search.to);
		status = STATUS_OK;
	}
	for (long d = 0; d < search.count; d++)
		free(search.rounds[d]);
	free(search.rounds);
	return status;
}

static int
write_script(struct diff *diff)
{
	struct script *script = &diff->script;
	size_t middle = 0;
	int status;

	script->marks = malloc(diff->from.count + diff->to.count + 1);
	if (script->marks == NULL)
		return STATUS_NO_MEMORY;
	memset(script->marks, ' ', diff->before);
	status = find_middle(diff, script->marks + diff->before, &middle);
	if (status != STATUS_OK)
		return status;
	memset(script->marks + diff->before + middle, ' ', diff->behind);
	script->count = diff->before + middle + diff->behind;
	return STATUS_OK;
}

/* ---- hunks ---- */

struct hunk {
	size_t first, end; /* of the script */
	size_t from, to; /* lines before it */
	size_t from_count, to_count;
};

/* The end of a hunk that begins here: edits with less between them than the
 * context of both. */
static size_t
end_of(const struct script *script, size_t at)
{
	size_t same = 0, end = at;

	for (; at < script->count && same <= CONTEXT_TWICE; at++) {
		same = script->marks[at] == ' ' ? same + 1 : 0;
		if (same == 0)
			end = at + 1;
	}
	return end + CONTEXT < script->count ? end + CONTEXT : script->count;
}

static void
print_head(const struct hunk *hunk, unified_line *call, void *arg)
{
	char text[120];
	int length = snprintf(text, sizeof(text), "@@ -%zu,%zu +%zu,%zu @@",
	    hunk->from + (hunk->from_count > 0), hunk->from_count,
	    hunk->to + (hunk->to_count > 0), hunk->to_count);

	if (length > 0)
		call('@', cursor_of(text, (size_t)length), arg);
}

static void
print_hunk(const struct diff *diff, const struct hunk *hunk, unified_line *call,
    void *arg)
{
	static const char remark[] = " No newline at end of file";
	size_t from = hunk->from, to = hunk->to;

	print_head(hunk, call, arg);
	for (size_t at = hunk->first; at < hunk->end; at++) {
		char mark = diff->script.marks[at];
		const struct lines *lines =
		    mark == '+' ? &diff->to : &diff->from;
		size_t line = mark == '+' ? to : from;

		call(mark, lines->list[line], arg);
		if (line + 1 == lines->count && !lines->ends)
			call('\\', cursor_of_text(remark), arg);
		from += mark != '+';
		to += mark != '-';
	}
}

static void
print_hunks(const struct diff *diff, unified_line *call, void *arg)
{
	const struct script *script = &diff->script;
	size_t from = 0, to = 0;

	for (size_t at = 0; at < script->count;) {
		struct hunk hunk = { 0 };

		if (script->marks[at] == ' ') {
			at++;
			from++;
			to++;
			continue;
		}
		hunk.first = at > CONTEXT ? at - CONTEXT : 0;
		hunk.end = end_of(script, at);
		hunk.from = from - (at - hunk.first);
		hunk.to = to - (at - hunk.first);
		for (size_t i = hunk.first; i < hunk.end; i++) {
			hunk.from_count += script->marks[i] != '+';
			hunk.to_count += script->marks[i] != '-';
		}
		print_hunk(diff, &hunk, call, arg);
		at = hunk.end;
		from = hunk.from + hunk.from_count;
		to = hunk.to + hunk.to_count;
	}
}

int
unified_print(
    struct cursor from, struct cursor to, unified_line *call, void *arg)
{
	struct diff diff = { .before = 0 };
	int status = split(from, &diff.from);

	if (status == STATUS_OK)
		status = split(to, &diff.to);
	if (status == STATUS_OK) {
		trim(&diff);
		status = write_script(&diff);
	}
	if (status == STATUS_OK)
		print_hunks(&diff, call, arg);
	free(diff.script.marks);
	free(diff.from.list);
	free(diff.to.list);
	return status;
}
