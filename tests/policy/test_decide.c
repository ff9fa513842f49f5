/* cases/<topic>.policy.json and <topic>.ask: "question => verdict ...". */
#include "policy/decide.h"

#include "policy/caseline.h"
#include "policy/document.h"
#include "policy/question.h"
#include "policy/stack.h"
#include "schema/status.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 2026-06-01T12:00:00Z, when every question is asked that says no time. */
#define NOW_US INT64_C(1780315200000000)

static char *
read_whole(const char *path, size_t *ret_length)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 20);
	size_t length;

	assert_non_null(file);
	assert_non_null(text);
	length = fread(text, 1, (1 << 20) - 1, file);
	assert_int_equal(fclose(file), 0);
	*ret_length = length;
	return text;
}

static struct policy *
load(const char *path)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	size_t length;
	char *text = read_whole(path, &length);

	if (document_load(cursor_of(text, length), path, &policy, &problems) !=
	    STATUS_OK)
		for (size_t i = 0; i < problems.count; i++)
			print_message("%s:%u:%u: %s\n", path,
			    problems.list[i].line, problems.list[i].column,
			    problems.list[i].text);
	assert_non_null(policy);
	problems_done(&problems);
	free(text);
	return policy;
}

static bool
check_line(
    const struct stack *stack, const char *path, unsigned number, char *text)
{
	static struct caseline line;

	assert_int_equal(
	    caseline_weigh(stack, cursor_of_text(text), NOW_US, &line),
	    STATUS_OK);
	if (line.result == CASELINE_RIGHT || line.result == CASELINE_NOTHING)
		return true;
	print_message("%s:%u: %s: %s %s\n", path, number, text, line.answer,
	    line.problem.text);
	return false;
}

static void
check_file(const char *name)
{
	char path[400], ask[400];
	struct policy *policy;
	struct stack *stack;
	size_t length;
	unsigned number = 0, wrong = 0;
	char *text, *rest, *line;
	int stem = (int)(strlen(name) - strlen(".ask"));

	assert_true(snprintf(ask, sizeof(ask), "%s/policy/cases/%s", TESTS_DIR,
			name) < (int)sizeof(ask));
	assert_true(
	    snprintf(path, sizeof(path), "%s/policy/cases/%.*s.policy.json",
		TESTS_DIR, stem, name) < (int)sizeof(path));
	policy = load(path);
	stack = stack_new((const struct policy *const *)&policy, 1);
	assert_non_null(stack);
	text = rest = read_whole(ask, &length);
	while ((line = strsep(&rest, "\n")) != NULL) {
		number++;
		wrong += !check_line(stack, ask, number, line);
	}
	assert_int_equal(wrong, 0);
	free(text);
	stack_unref(stack);
	policy_unref(policy);
}

static void
every_case_file_is_answered_as_it_says(void **state)
{
	DIR *folder = opendir(TESTS_DIR "/policy/cases");
	struct dirent *entry;
	unsigned count = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (length < 5 ||
		    strcmp(entry->d_name + length - 4, ".ask") != 0)
			continue;
		check_file(entry->d_name);
		count++;
	}
	assert_int_equal(closedir(folder), 0);
	assert_true(count > 5);
}

/* P04 */
static void
a_policy_without_rules_denies_everything(void **state)
{
	struct policy *policy = policy_new("empty", NULL, 0);
	struct facts facts = { .stage = STAGE_REQUEST,
		.last = true,
		.by_name = true,
		.port = 443,
		.protocol = FACT_PROTOCOL_HTTP,
		.method = "GET" };
	struct verdict verdict;

	(void)state;
	assert_non_null(policy);
	assert_int_equal(hostname_parse("a.test", 6, &facts.host), STATUS_OK);
	policy_decide(policy, &facts, NULL, NULL, &verdict);
	assert_int_equal(verdict.kind, VERDICT_DENY);
	assert_int_equal(verdict.reason, REASON_NO_RULE);
	assert_null(verdict.rule);
	policy_unref(policy);
}

static struct verdict
ask_of(const struct policy *policy, const char *words)
{
	struct question *question = malloc(sizeof(*question));
	struct problem problem = { 0 };
	struct verdict verdict;

	assert_non_null(question);
	assert_int_equal(
	    question_read(cursor_of_text(words), NOW_US, question, &problem),
	    STATUS_OK);
	policy_decide(policy, &question->facts, NULL, NULL, &verdict);
	free(question);
	return verdict;
}

/* P12, as far as it is the policy's: an ask is never an allow. */
static void
an_ask_overrides_an_allow_and_a_deny_an_ask(void **state)
{
	static const char text[] =
	    "{\"version\": 1, \"rules\": ["
	    "{\"id\": \"all\", \"host\": [\"*.test\"], \"wide\": true, "
	    "\"access\": \"any\"},"
	    "{\"id\": \"ask\", \"host\": [\"a.test\"], "
	    "\"path\": [\"/ask/**\"], \"access\": \"write\"},"
	    "{\"id\": \"no\", \"host\": [\"a.test\"], "
	    "\"path\": [\"/ask/no\"], \"action\": \"deny\"}]}";
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	struct rule *rule;

	(void)state;
	assert_int_equal(
	    document_load(cursor_of_text(text), "ask", &policy, &problems),
	    STATUS_OK);
	/* The loader refuses the word until somebody can be asked. */
	rule = unconst(policy_rule(policy, 1));
	rule->action = RULE_ASK;
	assert_int_equal(ask_of(policy, "https://a.test/").kind, VERDICT_ALLOW);
	assert_int_equal(
	    ask_of(policy, "https://a.test/ask/x").kind, VERDICT_ASK);
	assert_int_equal(
	    ask_of(policy, "https://a.test/ask/no").kind, VERDICT_DENY);
	assert_int_equal(
	    ask_of(policy, "@connect https://a.test/").kind, VERDICT_NEED_MORE);
	assert_int_equal(
	    ask_of(policy, "@hello! https://a.test/").kind, VERDICT_DENY);
	assert_int_equal(ask_of(policy, "https://a.test/ask/x").reason,
	    REASON_APPROVAL_NEEDED);
	policy_unref(policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ask_overrides_an_allow_and_a_deny_an_ask),
		cmocka_unit_test(every_case_file_is_answered_as_it_says),
		cmocka_unit_test(a_policy_without_rules_denies_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
