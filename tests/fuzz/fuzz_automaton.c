/*
 * automaton: patterns of any bytes; what is found must be matched as asked.
 */
#include "policy/automaton.h"

#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#define PATTERNS 4

struct read {
	struct pathmatch paths[PATTERNS];
	struct hostmatch hosts[PATTERNS];
	struct automaton_list lists[PATTERNS];
	size_t count;
};

static bool
read_pattern(struct read *r, enum automaton_words words, struct cursor line)
{
	const char *text = (const char *)line.at;
	struct automaton_list *list = &r->lists[r->count];

	/* Long ones cost time and say no more. */
	if (line.left == 0 || line.left > 64)
		return false;
	*list =
	    (struct automaton_list){ .count = 1, .negated = text[0] == '!' };
	if (list->negated) {
		text++;
		line.left--;
	}
	if (words == AUTOMATON_NAMES) {
		list->hosts = &r->hosts[r->count];
		return hostmatch_init(&r->hosts[r->count], text, line.left) ==
		       STATUS_OK;
	}
	list->paths = &r->paths[r->count];
	return (words == AUTOMATON_PATHS
		       ? pathmatch_init_path(
			     &r->paths[r->count], text, line.left)
		       : pathmatch_init_text(&r->paths[r->count], text,
			     line.left)) == STATUS_OK;
}

static bool
holds(const struct automaton_list *list, const struct automaton_word *word)
{
	struct hostname name;

	if (list->hosts == NULL)
		return pathmatch_holds(
		    list->paths, cursor_of(word->text, word->length));
	if (hostname_parse(word->text, word->length, &name) != STATUS_OK)
		abort();
	return hostmatch_holds(list->hosts, &name);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct automaton_word word;
	struct cursor in = cursor_of(data, size), line;
	struct read r = { .count = 0 };
	enum automaton_words words;
	uint8_t first;

	if (!cursor_u8(&in, &first))
		return 0;
	words = (enum automaton_words)(first % 3);
	while (r.count < PATTERNS && cursor_until(&in, '\n', &line))
		if (read_pattern(&r, words, line))
			r.count++;
	if (automaton_find(words, r.lists, r.count, &word) == STATUS_OK)
		for (size_t i = 0; i < r.count; i++)
			if (holds(&r.lists[i], &word) == r.lists[i].negated)
				abort();
	for (size_t i = 0; i < r.count; i++) {
		pathmatch_done(&r.paths[i]);
		hostmatch_done(&r.hosts[i]);
	}
	return 0;
}
