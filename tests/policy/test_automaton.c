/* What is found is matched, and what is not found is matched by nothing. */
#include "policy/automaton.h"

#include "policy/urlpath.h"
#include "schema/status.h"
#include "tests/policy/drafts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static unsigned cases;

static int
find_host(const char *in, const char *out, char *ret)
{
	static struct automaton_word word;
	struct hostmatch yes, no;
	struct automaton_list lists[2];
	int status;

	assert_int_equal(hostmatch_init(&yes, in, strlen(in)), STATUS_OK);
	assert_int_equal(hostmatch_init(&no, out, strlen(out)), STATUS_OK);
	lists[0] = (struct automaton_list){ .hosts = &yes, .count = 1 };
	lists[1] = (struct automaton_list){
		.hosts = &no, .count = 1, .negated = true
	};
	status = automaton_find(AUTOMATON_NAMES, lists, 2, &word);
	if (status == STATUS_OK) {
		struct hostname name;

		assert_int_equal(
		    hostname_parse(word.text, word.length, &name), STATUS_OK);
		assert_true(hostmatch_holds(&yes, &name));
		assert_false(hostmatch_holds(&no, &name));
		memcpy(ret, name.text, sizeof(name.text));
	}
	hostmatch_done(&yes);
	hostmatch_done(&no);
	return status;
}

static void
names_are_told_apart(void **state)
{
	static const struct {
		const char *in, *out;
		bool found;
	} table[] = {
		{ "a.test", "b.test", true },
		{ "a.test", "a.test", false },
		{ "a.test", "*.test", false },
		{ "*.test", "a.test", true },
		{ "*.a.test", "*.test", false },
		{ "*.test", "*.a.test", true },
		{ "api-*.test", "*.test", false },
		{ "*.test", "api-*.test", true },
		{ "api-*.test", "api-x*.test", true },
		/* "*" may stand for nothing, but no label ends in "-". */
		{ "x*.test", "x.test", true },
		{ "*", "*.test", true },
		{ "*.test", "*", false },
	};
	char name[LIMIT_HOST + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int status = find_host(table[i].in, table[i].out, name);

		if (status != (table[i].found ? STATUS_OK : STATUS_NOT_FOUND))
			print_message("%s - %s: %s\n", table[i].in,
			    table[i].out, status_name(status));
		assert_int_equal(
		    status, table[i].found ? STATUS_OK : STATUS_NOT_FOUND);
	}
}

#define A31 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B31 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* One letter has room in the middle, two have not. */
static void
a_label_has_at_most_63_letters(void **state)
{
	static struct automaton_word word;
	static const char *const others[] = { "a*c*b.test", "a*cd*b.test" };
	static const char full[] = A31 "*" B31 ".test";

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct hostmatch both[2];
		const struct automaton_list lists[2] = {
			{ .hosts = &both[0], .count = 1 },
			{ .hosts = &both[1], .count = 1 },
		};

		assert_int_equal(
		    hostmatch_init(&both[0], full, strlen(full)), STATUS_OK);
		assert_int_equal(
		    hostmatch_init(&both[1], others[i], strlen(others[i])),
		    STATUS_OK);
		assert_int_equal(
		    automaton_find(AUTOMATON_NAMES, lists, 2, &word),
		    i == 0 ? STATUS_OK : STATUS_NOT_FOUND);
		hostmatch_done(&both[0]);
		hostmatch_done(&both[1]);
	}
	assert_string_equal(word.text, A31 "c" B31 ".test");
}

static int
find_path(const char *in, const char *out, struct automaton_word *ret)
{
	struct pathmatch yes, no;
	struct automaton_list lists[2];
	int status;

	assert_int_equal(pathmatch_init_path(&yes, in, strlen(in)), STATUS_OK);
	assert_int_equal(pathmatch_init_path(&no, out, strlen(out)), STATUS_OK);
	lists[0] = (struct automaton_list){ .paths = &yes, .count = 1 };
	lists[1] = (struct automaton_list){
		.paths = &no, .count = 1, .negated = true
	};
	status = automaton_find(AUTOMATON_PATHS, lists, 2, ret);
	if (status == STATUS_OK) {
		struct cursor path = cursor_of(ret->text, ret->length), query;
		static struct urlpath canonical;

		assert_int_equal(
		    urlpath_parse(path, &canonical, &query), STATUS_OK);
		assert_string_equal(canonical.text, ret->text);
		assert_true(pathmatch_holds(&yes, path));
		assert_false(pathmatch_holds(&no, path));
	}
	pathmatch_done(&yes);
	pathmatch_done(&no);
	return status;
}

static void
paths_are_told_apart(void **state)
{
	static struct automaton_word word;
	static const struct {
		const char *in, *out, *found;
	} table[] = {
		{ "/a", "/b", "/a" },
		{ "/a/*", "/a/**", NULL },
		{ "/a/**", "/a/*", "/a" },
		{ "/**", "/*", "/x/" },
		{ "/*", "/**", NULL },
		{ "/a/**/b", "/a/*/b", "/a/x/x/b" },
		{ "/a*", "/a", "/ax" },
		{ "/a*b", "/a**b", NULL },
		{ "/a%2Fb", "/a/b", "/a%2Fb" },
		{ "/%40a", "/@a", NULL },
		/* "." and ".." are no segments, however they are come by. */
		{ "/a/*.", "/a/*x.", "/a/;." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int status = find_path(table[i].in, table[i].out, &word);

		if (table[i].found == NULL) {
			assert_int_equal(status, STATUS_NOT_FOUND);
			continue;
		}
		assert_int_equal(status, STATUS_OK);
		assert_int_equal(word.length, strlen(table[i].found));
	}
}

/* Random patterns from three letters: what they say of all short words. */
static void
random_path(char *out, size_t size)
{
	size_t length = 1 + drafts_chance((unsigned)size - 2);
	static const char letters[] = "ab/**";

	out[0] = '/';
	for (size_t i = 1; i < length; i++)
		out[i] = letters[drafts_chance(5)];
	out[length] = '\0';
}

static bool
init_random(struct pathmatch *match)
{
	char text[9];

	random_path(text, sizeof(text));
	return pathmatch_init_path(match, text, strlen(text)) == STATUS_OK;
}

/* Whether some word of up to six letters is matched by one alone. */
static bool
some_short_word(const struct pathmatch *yes, const struct pathmatch *no)
{
	static const char letters[] = "ab/x";
	static struct urlpath canonical;
	char text[8] = "/";

	for (unsigned number = 0; number < 1U << 10; number++) {
		struct cursor path, query;

		for (size_t i = 0; i < 5; i++)
			text[1 + i] = letters[number >> 2 * i & 3];
		for (size_t length = 1; length <= 6; length++) {
			path = cursor_of(text, length);
			if (pathmatch_holds(yes, path) &&
			    !pathmatch_holds(no, path) &&
			    urlpath_parse(path, &canonical, &query) ==
				STATUS_OK)
				return true;
		}
	}
	return false;
}

static void
nothing_is_missed_and_nothing_invented(void **state)
{
	static struct automaton_word word;

	(void)state;
	for (unsigned i = 0; i < cases / 20; i++) {
		struct pathmatch yes, no;
		struct automaton_list lists[2];
		int status;

		if (!init_random(&yes))
			continue;
		if (!init_random(&no)) {
			pathmatch_done(&yes);
			continue;
		}
		lists[0] = (struct automaton_list){ .paths = &yes, .count = 1 };
		lists[1] = (struct automaton_list){
			.paths = &no, .count = 1, .negated = true
		};
		status = automaton_find(AUTOMATON_PATHS, lists, 2, &word);
		if (status == STATUS_OK) {
			struct cursor path = cursor_of(word.text, word.length);

			assert_true(pathmatch_holds(&yes, path));
			assert_false(pathmatch_holds(&no, path));
		} else {
			assert_int_equal(status, STATUS_NOT_FOUND);
			assert_false(some_short_word(&yes, &no));
		}
		pathmatch_done(&yes);
		pathmatch_done(&no);
	}
}

/* What a proof cannot afford it does not claim. */
static void
too_many_states_are_no_answer(void **state)
{
	static struct automaton_word word;
	struct pathmatch globs[40];
	struct automaton_list lists[40];
	char text[100];

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		int length = snprintf(text, sizeof(text), "/**%c**%c%c**",
		    (int)('a' + i % 26), (int)('a' + (i * 7 + 3) % 26),
		    (int)('a' + i % 5));

		assert_true(length > 0);
		assert_int_equal(
		    pathmatch_init_path(&globs[i], text, (size_t)length),
		    STATUS_OK);
		lists[i] =
		    (struct automaton_list){ .paths = &globs[i], .count = 1 };
	}
	assert_int_equal(
	    automaton_find(AUTOMATON_PATHS, lists, 40, &word), STATUS_FULL);
	for (size_t i = 0; i < 40; i++)
		pathmatch_done(&globs[i]);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_told_apart),
		cmocka_unit_test(a_label_has_at_most_63_letters),
		cmocka_unit_test(paths_are_told_apart),
		cmocka_unit_test(nothing_is_missed_and_nothing_invented),
		cmocka_unit_test(too_many_states_are_no_answer),
	};

	cases = drafts_cases(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
