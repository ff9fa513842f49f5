/*
 * Attenuation, and its one property: what a child allows, every token that it
 * descends from allows at that instant.
 */
#include "broker/attenuate.h"
#include "broker/remit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW 1764500000

static const struct token top = { .id = "AAAAAAAAAAAAAAAAAAAAAQ",
	.root = "AAAAAAAAAAAAAAAAAAAAAQ",
	.subject = "agent:coder",
	.client = "agent:coder",
	.audience = "http://exeat.internal",
	.scope = "egress:default cred:git cred:model",
	.run = "run-1",
	.issued_s = NOW - 100,
	.starts_s = NOW - 100,
	.expires_s = NOW + 1000 };

static struct attenuate_wish
wish_all(void)
{
	return (struct attenuate_wish){ .scope = "",
		.audience = "",
		.client = "agent:coder",
		.most_scope = top.scope,
		.most_life_s = 300,
		.now_s = NOW };
}

static void
a_child_has_what_parent_wish_and_file_have_in_common(void **state)
{
	struct attenuate_wish wish = wish_all();
	char dropped[LIMIT_SCOPE + 1];
	struct token child;

	(void)state;
	wish.scope = "cred:model cred:aws cred:git";
	wish.most_scope = "cred:model cred:aws";
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_WELL);
	assert_string_equal(child.scope, "cred:model");
	assert_string_equal(dropped, "cred:aws cred:git");
	assert_string_equal(child.parent, top.id);
	assert_string_equal(child.root, top.root);
	assert_int_equal(child.depth, 1);
	assert_int_equal(child.expires_s, NOW + 300);
	assert_int_equal(child.starts_s, NOW - 10);
	wish.scope = "cred:aws";
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_SCOPE);
}

static void
a_child_ends_with_the_first_of_those_that_limit_it(void **state)
{
	struct attenuate_wish wish = wish_all();
	char dropped[LIMIT_SCOPE + 1];
	struct token child;

	(void)state;
	wish.life_s = 60;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_WELL);
	assert_int_equal(child.expires_s, NOW + 60);
	wish.life_s = 100000;
	wish.most_life_s = 100000;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_WELL);
	assert_int_equal(child.expires_s, top.expires_s);
	wish.ends_s = NOW + 7;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_WELL);
	assert_int_equal(child.expires_s, NOW + 7);
	wish.now_s = top.expires_s;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_OVER);
	wish = wish_all();
	wish.ends_s = NOW;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_OVER);
}

static void
another_audience_is_refused(void **state)
{
	struct attenuate_wish wish = wish_all();
	char dropped[LIMIT_SCOPE + 1];
	struct token child;

	(void)state;
	wish.audience = "https://api.example";
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_AUDIENCE);
	wish.audience = top.audience;
	assert_int_equal(
	    attenuate(&top, &wish, &child, dropped), ATTENUATE_WELL);
}

static void
actors_are_told_the_last_first_and_only_so_many(void **state)
{
	struct attenuate_wish wish = wish_all();
	char dropped[LIMIT_SCOPE + 1], name[32];
	struct token token = top, child;

	(void)state;
	for (int i = 0; i < LIMIT_TOKEN_DEPTH; i++) {
		(void)snprintf(name, sizeof(name), "agent:%d", i);
		wish.actor = name;
		assert_int_equal(
		    attenuate(&token, &wish, &child, dropped), ATTENUATE_WELL);
		assert_string_equal(child.actor[0], name);
		memcpy(child.id, token.id, sizeof(child.id));
		child.id[0] = (char)('B' + i);
		assert_true(token_is_sound(&child));
		token = child;
	}
	assert_string_equal(token.actor[LIMIT_TOKEN_DEPTH - 1], "agent:0");
	assert_int_equal(
	    attenuate(&token, &wish, &child, dropped), ATTENUATE_DEPTH);
}

static void
a_scope_has_words_and_no_word_twice(void **state)
{
	static const char *const wrong[] = { "", " ", " a", "a ", "a  b", "a a",
		"a b a", "a\tb", "a\"", "a\\", "\x7f", "\xc3\xa4" };
	char many[LIMIT_SCOPE + 2];

	(void)state;
	assert_true(remit_is_sound("a"));
	assert_true(remit_is_sound("a b c:d/e*"));
	/* A word is no prefix of another. */
	assert_true(remit_is_sound("ab a abc"));
	assert_false(remit_has("ab abc", cursor_of_text("a")));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(remit_is_sound(wrong[i]));
	memset(many, 'x', sizeof(many));
	many[LIMIT_SCOPE] = '\0';
	assert_true(remit_is_sound(many));
	many[LIMIT_SCOPE] = 'x';
	many[LIMIT_SCOPE + 1] = '\0';
	assert_false(remit_is_sound(many));
}

/* ---- the property ---- */

static uint32_t chance_state;

/* xorshift: the same tries every time. */
static uint32_t
chance(uint32_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 17;
	chance_state ^= chance_state << 5;
	return chance_state % below;
}

/* Eight words are enough for every relation of three sets. */
static const char *const words[] = { "a", "ab", "b", "cred:a", "cred:b",
	"egress:a", "x", "y" };

static void
draw_scope(char out[LIMIT_SCOPE + 1], bool may_be_empty)
{
	struct cursor_writer w = cursor_writer_of(out, LIMIT_SCOPE);
	uint32_t first = chance(8), which = chance(256);

	if (which == 0 && !may_be_empty)
		which = 1;
	for (uint32_t i = 0; i < 8; i++)
		if ((which >> i & 1) != 0) {
			if (w.used > 0)
				cursor_put_u8(&w, ' ');
			cursor_put_text(&w, words[(first + i) % 8]);
		}
	out[w.used] = '\0';
}

static void
draw_wish(struct attenuate_wish *wish, char scope[LIMIT_SCOPE + 1],
    char most[LIMIT_SCOPE + 1])
{
	static const char *const audiences[] = { "", "", "",
		"http://exeat.internal", "https://other.example" };

	draw_scope(scope, true);
	draw_scope(most, true);
	*wish = (struct attenuate_wish){ .scope = scope,
		.most_scope = most,
		.audience = audiences[chance(5)],
		.actor = chance(2) == 0 ? NULL : "agent:tester",
		.client = "agent:tester",
		.life_s = chance(3) == 0 ? 0 : chance(2000),
		.most_life_s = chance(2000),
		.ends_s = chance(4) == 0 ? NOW + (int64_t)chance(2000) : 0,
		.now_s = NOW + (int64_t)chance(1200) - 100 };
}

static void
check_use(const struct token *chain, size_t length)
{
	struct attenuate_use use = { .word = cursor_of_text(words[chance(8)]),
		.audience = chance(8) == 0 ? "https://other.example"
					   : "http://exeat.internal",
		.run = chance(16) == 0 ? "run-2" : "run-1",
		.now_s = NOW + (int64_t)chance(1400) - 200 };

	if (!attenuate_allows(&chain[length - 1], &use))
		return;
	for (size_t i = 0; i + 1 < length; i++)
		assert_true(attenuate_allows(&chain[i], &use));
}

static void
check_chain(const struct token *chain, size_t length)
{
	for (size_t i = 1; i < length; i++) {
		const struct token *parent = &chain[i - 1], *child = &chain[i];

		assert_true(token_is_sound(child));
		assert_true(remit_is_sound(child->scope));
		assert_true(remit_is_within(child->scope, parent->scope));
		assert_true(child->expires_s <= parent->expires_s);
		assert_true(child->starts_s >= parent->starts_s);
		assert_int_equal(child->depth, parent->depth + 1);
		assert_string_equal(child->subject, parent->subject);
		assert_string_equal(child->run, parent->run);
		assert_string_equal(child->parent, parent->id);
		assert_true(child->actors >= parent->actors);
	}
	for (int i = 0; i < 8; i++)
		check_use(chain, length);
}

static size_t
draw_chain(struct token *chain)
{
	char scope[LIMIT_SCOPE + 1], most[LIMIT_SCOPE + 1];
	char dropped[LIMIT_SCOPE + 1];
	struct attenuate_wish wish;
	size_t length = 1;

	chain[0] = top;
	draw_scope(chain[0].scope, false);
	while (length <= LIMIT_TOKEN_DEPTH + 1u) {
		draw_wish(&wish, scope, most);
		if (attenuate(&chain[length - 1], &wish, &chain[length],
			dropped) != ATTENUATE_WELL)
			break;
		memcpy(chain[length].id, top.id, sizeof(top.id));
		chain[length].id[0] = (char)('B' + length);
		length++;
	}
	assert_true(length <= LIMIT_TOKEN_DEPTH + 1u);
	return length;
}

static void
no_child_allows_what_its_parents_do_not(void **state)
{
	static struct token chain[LIMIT_TOKEN_DEPTH + 2];
	const char *full = secure_getenv("EXEAT_FULL");
	int tries = full != NULL && full[0] == '1' ? 1000000 : 20000;
	size_t made = 0;

	(void)state;
	chance_state = 20251130;
	for (int i = 0; i < tries; i++) {
		size_t length = draw_chain(chain);

		check_chain(chain, length);
		made += length - 1;
	}
	/* A test whose chains are all empty would prove nothing. */
	assert_true(made > (size_t)tries / 4);
	(void)printf("%d tries, %zu children\n", tries, made);
}

static void
the_order_of_two_cuts_makes_no_difference(void **state)
{
	char scope[2][LIMIT_SCOPE + 1], most[2][LIMIT_SCOPE + 1];
	char dropped[LIMIT_SCOPE + 1];
	struct attenuate_wish wish[2];
	struct token token[2][2];

	(void)state;
	chance_state = 7;
	for (int i = 0; i < 5000; i++) {
		enum attenuate_end end[2] = { ATTENUATE_WELL, ATTENUATE_WELL };

		for (int k = 0; k < 2; k++) {
			draw_wish(&wish[k], scope[k], most[k]);
			/* An empty wish takes what there is, which differs. */
			if (wish[k].scope[0] == '\0')
				wish[k].scope = top.scope;
			wish[k].now_s = NOW;
		}
		for (int k = 0; k < 2; k++) {
			end[k] =
			    attenuate(&top, &wish[k], &token[k][0], dropped);
			if (end[k] == ATTENUATE_WELL)
				end[k] = attenuate(&token[k][0], &wish[1 - k],
				    &token[k][1], dropped);
		}
		assert_true(
		    (end[0] == ATTENUATE_WELL) == (end[1] == ATTENUATE_WELL));
		if (end[0] != ATTENUATE_WELL)
			continue;
		assert_true(
		    remit_is_within(token[0][1].scope, token[1][1].scope));
		assert_true(
		    remit_is_within(token[1][1].scope, token[0][1].scope));
		assert_int_equal(token[0][1].expires_s, token[1][1].expires_s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_child_has_what_parent_wish_and_file_have_in_common),
		cmocka_unit_test(
		    a_child_ends_with_the_first_of_those_that_limit_it),
		cmocka_unit_test(another_audience_is_refused),
		cmocka_unit_test(
		    actors_are_told_the_last_first_and_only_so_many),
		cmocka_unit_test(a_scope_has_words_and_no_word_twice),
		cmocka_unit_test(no_child_allows_what_its_parents_do_not),
		cmocka_unit_test(the_order_of_two_cuts_makes_no_difference),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
