#include "gateway/run/budget.h"

#include "policy/document.h"
#include "policy/facts.h"
#include "policy/stack.h"
#include "schema/json.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000000)

static struct stack *
load(const char *const *texts, size_t count)
{
	const struct policy *layers[LIMIT_LAYERS];
	struct problems problems = { 0 };
	struct stack *stack;

	for (size_t i = 0; i < count; i++) {
		struct policy *policy;

		assert_int_equal(document_load(cursor_of_text(texts[i]), "test",
				     &policy, &problems),
		    STATUS_OK);
		layers[i] = policy;
	}
	stack = stack_new(layers, count);
	assert_non_null(stack);
	for (size_t i = 0; i < count; i++)
		policy_unref(layers[i]);
	return stack;
}

/* What a request for a.test counts against; NULL for nothing. */
static struct budget_claim *
claim_of(struct budget *budget, const struct stack *stack)
{
	static const char name[] = "a.test";
	struct facts facts = { .stage = STAGE_REQUEST,
		.last = true,
		.by_name = true,
		.port = 9,
		.protocol = FACT_PROTOCOL_HTTP,
		.method = "GET" };
	struct urlpath path;
	struct cursor query;
	struct budget_claim *claim;
	struct verdict verdict;

	assert_int_equal(
	    hostname_parse(name, sizeof(name) - 1, &facts.host), STATUS_OK);
	assert_int_equal(
	    urlpath_parse(cursor_of_text("/"), &path, &query), STATUS_OK);
	facts.path = &path;
	stack_decide(stack, &facts, &verdict);
	assert_true(verdict_allows(&verdict));
	assert_int_equal(
	    budget_find(budget, stack, &verdict, &claim), STATUS_OK);
	return claim;
}

#define RULE(limits)                                                       \
	"{\"version\":1,\"name\":\"p\",\"rules\":[{\"id\":\"r\",\"host\":" \
	"[\"a.test\"],\"port\":[9]" limits "}]"

static void
nothing_is_claimed_where_nothing_has_limits(void **state)
{
	static const char *const text = RULE("") "}";
	struct budget *budget = budget_new();
	struct stack *stack = load(&text, 1);

	(void)state;
	assert_null(claim_of(budget, stack));
	assert_true(budget_take_request(NULL, 0, NULL));
	assert_int_equal(budget_left(NULL, QUOTA_BYTES_IN), UINT64_MAX);
	stack_unref(stack);
	budget_free(budget);
}

/* Not in any minute, wherever it begins, are there more. */
static void
requests_of_any_minute_are_limited(void **state)
{
	static const char *const text =
	    RULE(",\"limits\":{\"requests_per_minute\":10}") "}";
	struct budget *budget = budget_new();
	struct stack *stack = load(&text, 1);
	struct budget_claim *claim = claim_of(budget, stack);
	struct budget_over over;
	int64_t taken[2000], now = 0;
	size_t count = 0;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		now += SECOND / 7 + i % 13 * (SECOND / 3);
		if (!budget_take_request(claim, now, &over)) {
			assert_int_equal(over.kind, QUOTA_REQUESTS);
			assert_in_range(over.retry_s, 1, 61);
			continue;
		}
		if (count >= 10)
			assert_true(now - taken[count - 10] >= 60 * SECOND);
		taken[count++] = now;
		assert_true(count < 2000);
	}
	/* And it is not held back for much longer than that either. */
	assert_true(now / (66 * SECOND) * 10 <= (int64_t)count + 10);
	free(claim);
	stack_unref(stack);
	budget_free(budget);
}

static void
waiting_as_long_as_told_helps(void **state)
{
	static const char *const text =
	    RULE(",\"limits\":{\"requests_per_minute\":2}") "}";
	struct budget *budget = budget_new();
	struct stack *stack = load(&text, 1);
	struct budget_claim *claim = claim_of(budget, stack);
	struct budget_over over;
	char words[BUDGET_WORDS_MAX];

	(void)state;
	assert_true(budget_take_request(claim, 0, &over));
	assert_true(budget_take_request(claim, 30 * SECOND, &over));
	assert_false(budget_take_request(claim, 40 * SECOND, &over));
	budget_words(&over, words);
	assert_string_equal(
	    words, "rule r has used up its requests_per_minute of 2");
	assert_false(budget_take_request(
	    claim, 40 * SECOND + (over.retry_s - 1) * SECOND, &over));
	assert_true(budget_take_request(claim, 61 * SECOND, &over));
	assert_true(budget_take_request(claim, 600 * SECOND, &over));
	free(claim);
	stack_unref(stack);
	budget_free(budget);
}

static void
every_layer_and_its_rule_have_an_account(void **state)
{
	static const char *const texts[] = {
		RULE(",\"limits\":{\"bytes_out\":100}") ",\"limits\":{"
							"\"bytes_in\":50}}",
		"{\"version\":1,\"name\":\"q\",\"rules\":[{\"id\":\"s\","
		"\"host\":[\"a.test\"],\"port\":[9],"
		"\"limits\":{\"bytes_out\":70}}]}"
	};
	struct budget *budget = budget_new();
	struct stack *stack = load(texts, 2);
	struct budget_claim *claim = claim_of(budget, stack);
	struct budget_over over;

	(void)state;
	assert_int_equal(claim->count, 3);
	assert_int_equal(budget_left(claim, QUOTA_BYTES_OUT), 70);
	assert_int_equal(budget_left(claim, QUOTA_BYTES_IN), 50);
	budget_spend(claim, QUOTA_BYTES_OUT, 69);
	assert_false(budget_is_spent(claim, &over));
	budget_spend(claim, QUOTA_BYTES_OUT, 1);
	assert_true(budget_is_spent(claim, &over));
	assert_string_equal(over.owner, "rule s");
	assert_int_equal(over.retry_s, 0);
	assert_false(budget_take_request(claim, 0, &over));
	free(claim);
	stack_unref(stack);
	budget_free(budget);
}

static void
connections_are_held_once_and_given_back(void **state)
{
	static const char *const text =
	    RULE(",\"limits\":{\"connections\":1}") "}";
	struct budget *budget = budget_new();
	struct stack *stack = load(&text, 1);
	struct budget_claim *claim = claim_of(budget, stack), *first = NULL,
			    *second = NULL;
	struct budget_over over;

	(void)state;
	assert_true(budget_take_connection(&first, claim, &over));
	assert_true(budget_take_connection(&first, claim, &over));
	assert_int_equal(first->count, 1);
	assert_false(budget_take_connection(&second, claim, &over));
	assert_null(second);
	assert_int_equal(over.kind, QUOTA_CONNECTIONS);
	budget_leave(first);
	assert_true(budget_take_connection(&second, claim, &over));
	budget_leave(second);
	free(claim);
	stack_unref(stack);
	budget_free(budget);
}

static void
same_rule_of_another_stack_has_the_same_account(void **state)
{
	static const char *const text =
	    RULE(",\"limits\":{\"bytes_out\":100}") "}";
	static const char *const wider =
	    RULE(",\"limits\":{\"bytes_out\":150}") "}";
	struct budget *budget = budget_new();
	struct stack *stack = load(&text, 1), *next = load(&wider, 1);
	struct budget_claim *claim = claim_of(budget, stack), *again;
	char room[512];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));
	struct json j = json_to(&out);

	(void)state;
	budget_spend(claim, QUOTA_BYTES_OUT, 90);
	again = claim_of(budget, next);
	assert_int_equal(budget_left(again, QUOTA_BYTES_OUT), 60);
	json_open(&j, NULL, '{');
	budget_describe(budget, next, 0, &j);
	json_close(&j, '}');
	/* There is too little room for a description: it is left out. */
	room[out.used] = '\0';
	assert_string_equal(room, "{\"limits\":[]}");
	free(claim);
	free(again);
	stack_unref(stack);
	stack_unref(next);
	budget_free(budget);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_claimed_where_nothing_has_limits),
		cmocka_unit_test(requests_of_any_minute_are_limited),
		cmocka_unit_test(waiting_as_long_as_told_helps),
		cmocka_unit_test(every_layer_and_its_rule_have_an_account),
		cmocka_unit_test(connections_are_held_once_and_given_back),
		cmocka_unit_test(
		    same_rule_of_another_stack_has_the_same_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
