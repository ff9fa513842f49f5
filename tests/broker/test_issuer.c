/* Tokens of one run: issued, exchanged, shown, revoked, and all refusals. */
#include "broker/agent.h"
#include "broker/issuer.h"
#include "broker/lineage.h"
#include "schema/status.h"
#include "tests/broker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1764500000

static const char file[] =
    "{\"version\": 1, \"credentials\": {\n"
    " \"git\": {\"kind\": \"bearer\", \"hosts\": [\"a.example\"],\n"
    "        \"source\": {\"file\": \"k\"}}},\n"
    " \"identities\": {\n"
    "  \"coder\": {\"scope\": [\"egress:default\", \"cred:git\"],\n"
    "        \"ttl_s\": 600, \"may_act\": [\"tester\"]},\n"
    "  \"tester\": {\"scope\": [\"egress:default\", \"more\"]},\n"
    "  \"other\": {\"scope\": [\"cred:git\"]}}}";

static struct catalog *catalog;
static struct issuer *issuer;
static struct issuer_outcome out;

static struct issuer *
make(const char *run)
{
	const struct agents *agents = catalog_agents(catalog);
	const struct issuer_setup setup = { .agents = agents,
		.agent = agents_find(agents, "coder"),
		.run = run };
	struct issuer *made = issuer_new(&setup, NOW);

	assert_non_null(made);
	return made;
}

static int
set_up(void **state)
{
	(void)state;
	catalog = stage_load(file);
	issuer = make("run-1");
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	issuer_free(issuer);
	catalog_free(catalog);
	return 0;
}

static bool
ask(const struct token_question *question, int64_t now_s)
{
	issuer_answer(issuer, question, now_s, &out);
	assert_int_equal(out.refusal.number, question->number);
	return out.well;
}

/* A new one as text in room. */
static struct cursor
get(unsigned char room[LIMIT_TOKEN])
{
	assert_true(ask(&(struct token_question){ .act = TOKEN_CLIENT }, NOW));
	memcpy(room, out.text, out.length);
	return cursor_of(room, out.length);
}

static struct cursor
exchange(struct cursor subject, unsigned char room[LIMIT_TOKEN])
{
	assert_true(ask(&(struct token_question){ .act = TOKEN_EXCHANGE,
			    .subject = subject },
	    NOW));
	memcpy(room, out.text, out.length);
	return cursor_of(room, out.length);
}

static enum reason
show(struct cursor text, int64_t now_s)
{
	if (ask(&(struct token_question){ .act = TOKEN_VERIFY,
		    .subject = text },
		now_s))
		return REASON_NONE;
	return out.refusal.reason;
}

static void
an_identity_gets_what_the_file_says(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);

	(void)state;
	assert_string_equal(out.token.scope, "egress:default cred:git");
	assert_int_equal(out.token.expires_s, NOW + 600);
	assert_string_equal(out.token.parent, issuer_root(issuer)->id);
	assert_int_equal(show(text, NOW), REASON_NONE);
	assert_string_equal(out.token.subject, "agent:coder");
	assert_string_equal(out.token.may_act, "agent:tester");
	assert_string_equal(out.token.run, "run-1");
}

static void
who_is_no_identity_gets_none(void **state)
{
	struct token_question question = {
		.act = TOKEN_CLIENT, .number = 7, .client = "nobody"
	};

	(void)state;
	assert_false(ask(&question, NOW));
	assert_int_equal(out.refusal.error, TOKEN_INVALID_CLIENT);
	memcpy(question.client, "other", 6);
	assert_false(ask(&question, NOW));
	assert_int_equal(out.refusal.error, TOKEN_UNAUTHORIZED_CLIENT);
	memcpy(question.client, "tester", 7);
	assert_true(ask(&question, NOW));
	assert_string_equal(out.token.subject, "agent:coder");
	assert_string_equal(out.token.actor[0], "agent:tester");
	/* What both have. */
	assert_string_equal(out.token.scope, "egress:default");
}

static void
a_wish_that_cannot_be_is_refused(void **state)
{
	static const struct {
		struct token_question question;
		enum token_error error;
	} cases[] = {
		{ { .scope = "cred:none" }, TOKEN_INVALID_SCOPE },
		{ { .scope = "a  b" }, TOKEN_INVALID_SCOPE },
		{ { .scope = "a a" }, TOKEN_INVALID_SCOPE },
		{ { .audience = "https://a.example" }, TOKEN_INVALID_TARGET },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(ask(&cases[i].question, NOW));
		assert_int_equal(out.refusal.error, cases[i].error);
		assert_int_equal(out.length, 0);
	}
}

static void
an_exchange_is_never_longer_or_wider(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);
	struct token_question question = { .act = TOKEN_EXCHANGE,
		.subject = text,
		.scope = "cred:git more",
		.life_s = 100000 };

	(void)state;
	assert_true(ask(&question, NOW + 400));
	assert_string_equal(out.token.scope, "cred:git");
	assert_string_equal(out.dropped, "more");
	assert_int_equal(out.token.expires_s, NOW + 600);
	question.life_s = 0;
	assert_true(ask(&question, NOW));
	assert_int_equal(out.token.expires_s, NOW + LIMIT_DELEGATED_LIFE_S);
}

static void
only_so_many_hands_may_hold_one(void **state)
{
	unsigned char room[2][LIMIT_TOKEN];
	struct cursor text = get(room[0]);

	(void)state;
	for (int i = 1; i < LIMIT_TOKEN_DEPTH; i++)
		text = exchange(text, room[i % 2]);
	assert_int_equal(out.token.depth, LIMIT_TOKEN_DEPTH);
	assert_false(ask(
	    &(struct token_question){ .act = TOKEN_EXCHANGE, .subject = text },
	    NOW));
	assert_int_equal(out.refusal.reason, REASON_ATTENUATION);
}

static void
a_token_ends_at_its_second(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);

	(void)state;
	assert_int_equal(show(text, NOW + 599), REASON_NONE);
	assert_int_equal(show(text, NOW + 600), REASON_TOKEN_EXPIRED);
	/* A clock that goes back does not bring it to life again. */
	assert_int_equal(show(text, NOW + 599), REASON_BAD_TOKEN);
}

static void
another_run_and_another_key_are_strangers(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);
	struct issuer *own = issuer;

	(void)state;
	issuer = make("run-2");
	assert_int_equal(show(text, NOW), REASON_WRONG_RUN);
	assert_true(out.unvouched);
	assert_string_equal(out.token.run, "run-1");
	issuer_free(issuer);
	/* The same run anew has another key. */
	issuer = make("run-1");
	assert_int_equal(show(text, NOW), REASON_BAD_TOKEN);
	issuer_free(issuer);
	issuer = own;
	assert_int_equal(show(text, NOW), REASON_NONE);
}

/* "token of every alteration": one byte anywhere is enough. */
static void
a_byte_changed_anywhere_makes_it_worthless(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);

	(void)state;
	for (size_t i = 0; i < text.left; i++) {
		unsigned char before = room[i];

		room[i] = before == 'A' ? 'B' : 'A';
		assert_int_not_equal(show(text, NOW), REASON_NONE);
		room[i] = before;
	}
	assert_int_equal(show(text, NOW), REASON_NONE);
}

static void
a_revocation_takes_all_descendants_and_no_other(void **state)
{
	unsigned char room[4][LIMIT_TOKEN];
	struct cursor parent = get(room[0]);
	struct cursor child = exchange(parent, room[1]);
	struct cursor grandchild = exchange(child, room[2]);
	struct cursor other = get(room[3]);
	struct token_question question = { .act = TOKEN_REVOKE,
		.subject = child };

	(void)state;
	assert_true(ask(&question, NOW));
	assert_int_equal(out.revoked, 2);
	assert_int_equal(show(child, NOW), REASON_REVOKED);
	assert_int_equal(show(grandchild, NOW), REASON_REVOKED);
	assert_int_equal(show(parent, NOW), REASON_NONE);
	assert_int_equal(show(other, NOW), REASON_NONE);
	assert_false(ask(&question, NOW));
	assert_false(ask(&(struct token_question){ .act = TOKEN_EXCHANGE,
			     .subject = grandchild },
	    NOW));
	assert_int_equal(out.refusal.error, TOKEN_INVALID_REQUEST);
}

static void
without_its_root_nothing_is_issued_any_more(void **state)
{
	unsigned char room[LIMIT_TOKEN];
	struct cursor text = get(room);
	struct token_question question = { .act = TOKEN_REVOKE };

	(void)state;
	memcpy(question.id, issuer_root(issuer)->id, sizeof(question.id));
	assert_true(issuer_holds(issuer));
	assert_true(ask(&question, NOW));
	assert_int_equal(out.revoked, 2);
	assert_false(issuer_holds(issuer));
	assert_int_equal(show(text, NOW), REASON_REVOKED);
	assert_false(ask(&(struct token_question){ .act = TOKEN_CLIENT }, NOW));
	assert_int_equal(out.refusal.reason, REASON_REVOKED);
}

static void
an_actor_must_be_one_that_may_act(void **state)
{
	unsigned char room[3][LIMIT_TOKEN];
	struct cursor own = get(room[0]), acting;
	struct token_question question = { .act = TOKEN_CLIENT,
		.client = "tester" };

	(void)state;
	assert_true(ask(&question, NOW));
	memcpy(room[1], out.text, out.length);
	acting = cursor_of(room[1], out.length);
	question = (struct token_question){
		.act = TOKEN_EXCHANGE, .subject = own, .actor = acting
	};
	assert_true(ask(&question, NOW));
	assert_string_equal(out.token.actor[0], "agent:tester");
	assert_int_equal(out.token.actors, 1);
	/* It is nobody new who acts by its own token for its own. */
	question.subject = acting;
	assert_true(ask(&question, NOW));
	assert_int_equal(out.token.actors, 1);
	/* A revoked actor is none. */
	assert_true(ask(
	    &(struct token_question){ .act = TOKEN_REVOKE, .subject = acting },
	    NOW));
	question.subject = own;
	assert_false(ask(&question, NOW));
	assert_int_equal(out.refusal.reason, REASON_REVOKED);
}

static void
a_run_holds_so_many_and_no_more(void **state)
{
	struct token_question question = { .act = TOKEN_CLIENT };

	(void)state;
	/* The root is one of them. */
	for (int i = 1; i < LIMIT_TOKENS; i++)
		assert_true(ask(&question, NOW));
	assert_false(ask(&question, NOW));
	assert_int_equal(out.refusal.error, TOKEN_UNAVAILABLE);
	assert_int_equal(out.length, 0);
	assert_true(ask(&question, NOW + 600));
}

static void
a_file_with_impossible_identities_is_told_so(void **state)
{
	static const struct {
		const char *identities, *word;
	} cases[] = {
		{ "{\"a\": {}}", "scope" },
		{ "{\"a\": {\"scope\": []}}", "" },
		{ "{\"a\": {\"scope\": [\"x y\"]}}", "" },
		{ "{\"a\": {\"scope\": [\"x\", \"x\"]}}", "none twice" },
		{ "{\"a\": {\"scope\": [\"cred:z\"]}}", "no credential \"z\"" },
		{ "{\"a\": {\"scope\": [\"x\"], \"ttl_s\": 0}}", "1 to 3600" },
		{ "{\"a\": {\"scope\": [\"x\"], \"ttl_s\": 3601}}", "" },
		{ "{\"a\": {\"scope\": [\"x\"], \"may_act\": [\"b\"]}}",
		    "no identity \"b\"" },
		{ "{\"a b\": {\"scope\": [\"x\"]}}", "no name" },
		{ "{\"a\": {\"scope\": [\"x\"], \"extra\": 1}}", "" },
		{ "[]", "" },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct problems problems = { .count = 0 };
		struct catalog *bad = NULL;

		(void)snprintf(text, sizeof(text),
		    "{\"version\": 1, \"credentials\": {}, \"identities\": %s}",
		    cases[i].identities);
		assert_int_equal(
		    catalog_load(cursor_of_text(text), &bad, &problems),
		    STATUS_PROBLEM);
		assert_non_null(strstr(problems.list[0].text, cases[i].word));
		problems_done(&problems);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_identity_gets_what_the_file_says),
		TEST(who_is_no_identity_gets_none),
		TEST(a_wish_that_cannot_be_is_refused),
		TEST(an_exchange_is_never_longer_or_wider),
		TEST(only_so_many_hands_may_hold_one),
		TEST(a_token_ends_at_its_second),
		TEST(another_run_and_another_key_are_strangers),
		TEST(a_byte_changed_anywhere_makes_it_worthless),
		TEST(a_revocation_takes_all_descendants_and_no_other),
		TEST(without_its_root_nothing_is_issued_any_more),
		TEST(an_actor_must_be_one_that_may_act),
		TEST(a_run_holds_so_many_and_no_more),
		TEST(a_file_with_impossible_identities_is_told_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
