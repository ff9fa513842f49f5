#include "broker/mint.h"
#include "tests/broker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* One credential file and the first thing that is wrong with it. */
static const struct fault {
	const char *text, *says;
	unsigned line, column;
} faults[] = {
	{ "[]", "a credential file must be an object", 1, 1 },
	{ "{\"version\": 2, \"credentials\": {}}",
	    "this must be a number from 1 to 1", 1, 13 },
	{ "{\"credentials\": {}}", "\"version\" is missing here", 1, 1 },
	{ "{\"version\": 1}", "\"credentials\" is missing here", 1, 1 },
	{ "{\"version\": 1, \"credentials\": {}, \"secrets\": 1}",
	    "\"secrets\" means nothing here", 1, 35 },
	{ "{\"version\": 1, \"credentials\": {},\n"
	  " \"issuer\": \"http://id.example\"}",
	    "\"http://id.example\" is no URL that an errand may go to", 2, 12 },
	{ "{\"version\": 1, \"credentials\": {\"a b\": {}}}",
	    "\"a b\" is no name of a credential", 1, 39 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {}}}",
	    "\"kind\" is missing here", 1, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\","
	  " \"hosts\": [\"a.example\"], \"source\": {\"vault\": \"b\"}}}}",
	    "no secret comes from \"b\"", 1, 90 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\","
	  " \"hosts\": [\"a.example\"], \"source\": {\"vault\": \"a\"}}}}",
	    "no secret comes from \"a\"", 1, 90 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"magic\"}}}",
	    "\"magic\" is no kind of credential", 1, 46 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"source\": {\"file\": \"k\"}}}}",
	    "\"hosts\" is missing here", 1, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\"]}}}",
	    "nothing says where its secret comes from", 1, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\", \"b b\"], \"source\": {\"fd\": 5}}}}",
	    "\"b b\" is no host", 2, 26 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"key\": \"k\"}}}}",
	    "this must name one place of a secret", 2, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"fd\": 5, \"env\": "
	  "\"K\"}}}}",
	    "this must name one place of a secret", 2, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": \"secret-itself\"}}}",
	    "this must be an object", 2, 37 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"bearer\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"fd\": 5},\n"
	  "  \"scheme\": \"a b\"}}}",
	    "this is no scheme of Authorization", 3, 13 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"header\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"fd\": 5},\n"
	  "  \"header\": \"Host\"}}}",
	    "no credential can stand in the field \"Host\"", 3, 13 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"basic\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"fd\": 5},\n"
	  "  \"user\": \"a:b\"}}}",
	    "a user of Basic has no colon", 3, 11 },
	{ "{\"version\": 1, \"credentials\": {\"a\": {\"kind\": \"query\",\n"
	  "  \"hosts\": [\"a.example\"], \"source\": {\"fd\": 5},\n"
	  "  \"query\": \"a&b\"}}}",
	    "\"a&b\" would have to be escaped in a query", 3, 12 },
	{ "{\"version\": 1, \"credentials\": {\"a\": 1, \"a\": 2}}",
	    "this is no JSON: duplicate object key near '\"a\"'", 1, 42 },
};

static void
every_fault_is_told_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct problems problems = { .count = 0 };
		struct catalog *catalog = NULL;

		assert_int_equal(catalog_load(cursor_of_text(faults[i].text),
				     &catalog, &problems),
		    STATUS_PROBLEM);
		assert_null(catalog);
		assert_true(problems.count >= 1);
		assert_string_equal(problems.list[0].text, faults[i].says);
		assert_int_equal(problems.list[0].line, faults[i].line);
		assert_int_equal(problems.list[0].column, faults[i].column);
		problems_done(&problems);
	}
}

static void
all_faults_are_told_in_one_go(void **state)
{
	static const char text[] =
	    "{\"version\": 1, \"credentials\": {\n"
	    " \"a\": {\"kind\": \"bearer\", \"hosts\": []},\n"
	    " \"b\": {\"kind\": \"magic\"},\n"
	    " \"c\": {\"kind\": \"basic\", \"hosts\": [\"x\"],\n"
	    "   \"source\": {\"env\": \"\"}, \"colour\": 1}}}";
	struct problems problems = { .count = 0 };
	struct catalog *catalog = NULL;

	(void)state;
	assert_int_equal(
	    catalog_load(cursor_of_text(text), &catalog, &problems),
	    STATUS_PROBLEM);
	/* a: hosts, source; b: kind; c: user, source, colour. */
	assert_int_equal(problems.count, 6);
	assert_int_equal(problems.list[0].line, 2);
	assert_int_equal(problems.list[2].line, 3);
	assert_int_equal(problems.list[5].line, 5);
	problems_done(&problems);
}

static const char two[] =
    "{\"version\": 1, \"credentials\": {\n"
    " \"a\": {\"kind\": \"bearer\", \"hosts\": [\"a.example\"],\n"
    "        \"source\": {\"file\": \"keys/a\"}},\n"
    " \"b\": {\"kind\": \"bearer\", \"hosts\": [\"b.example\"],\n"
    "        \"source\": {\"env\": \"B\"}}}}";

static void
only_what_is_needed_is_asked_for(void **state)
{
	struct catalog *catalog = NULL;
	struct problems problems = { .count = 0 };
	struct brokerage_want want;
	size_t at = 0;

	(void)state;
	assert_int_equal(
	    catalog_load(cursor_of_text(two), &catalog, &problems), STATUS_OK);
	assert_false(catalog_want(catalog, &at, &want));
	assert_int_equal(catalog_need(catalog, "c"), STATUS_NOT_FOUND);
	assert_int_equal(catalog_need(catalog, "b"), STATUS_OK);
	at = 0;
	assert_true(catalog_want(catalog, &at, &want));
	assert_int_equal(want.number, 1);
	assert_int_equal(want.source, BROKERAGE_ENV);
	assert_string_equal(want.name, "B");
	assert_false(catalog_want(catalog, &at, &want));
	assert_false(catalog_is_needed(catalog, catalog_find(catalog, "a")));
	/* What nobody asked for is not taken. */
	assert_int_equal(
	    catalog_give(catalog, 0, -1, &problems), STATUS_REFUSED);
	assert_int_equal(
	    catalog_give(catalog, 99, -1, &problems), STATUS_REFUSED);
	catalog_free(catalog);
}

static void
a_secret_that_cannot_be_had_has_a_place(void **state)
{
	struct catalog *catalog = stage_load(two);
	struct problems problems = { .count = 0 };
	struct problem lack = { .text = "there is no such file" };
	int fd = stage_file("two\nlines", 0600);

	(void)state;
	assert_int_equal(catalog_lack(catalog, 0, &lack, &problems), STATUS_OK);
	assert_string_equal(problems.list[0].text,
	    "the secret of a, file keys/a: there is no such file");
	assert_string_equal(problems.list[0].path, "$.credentials.a.source");
	assert_int_equal(problems.list[0].line, 3);
	/* And one that could not stand in a head. */
	assert_int_equal(
	    catalog_give(catalog, 1, fd, &problems), STATUS_PROBLEM);
	assert_int_equal(problems.list[1].line, 5);
	(void)close(fd);
	problems_done(&problems);
	catalog_free(catalog);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_told_with_its_place),
		cmocka_unit_test(all_faults_are_told_in_one_go),
		cmocka_unit_test(only_what_is_needed_is_asked_for),
		cmocka_unit_test(a_secret_that_cannot_be_had_has_a_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
