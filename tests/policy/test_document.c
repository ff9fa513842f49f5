#include "policy/document.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A document, and for each of its problems "line:column words of it". */
struct refused {
	const char *text;
	const char *problems[8]; /* ends with NULL */
};

#define RULES(rules) "{\"version\": 1, \"rules\": [\n" rules "\n]}"
#define HOST(host) RULES("{\"id\": \"r\",\n\"host\": [" host "]}")
#define RULE(rest) RULES("{\"id\": \"r\", \"host\": [\"a.test\"],\n" rest "}")

static int
load(const char *text, struct policy **ret, struct problems *problems)
{
	return document_load(cursor_of_text(text), "test", ret, problems);
}

static bool
is_told(const struct problem *problem, const char *expected)
{
	char place[40];
	const char *words = strchr(expected, ' ');
	int length = snprintf(
	    place, sizeof(place), "%u:%u", problem->line, problem->column);

	return words != NULL && words - expected == length &&
	       strncmp(place, expected, (size_t)length) == 0 &&
	       strstr(problem->text, words + 1) != NULL;
}

static size_t
check(const struct refused *refused)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	size_t expected = 0, wrong = 0;

	if (load(refused->text, &policy, &problems) != STATUS_PROBLEM) {
		print_message("accepted: %s\n", refused->text);
		policy_unref(policy);
		return 1;
	}
	while (refused->problems[expected] != NULL)
		expected++;
	wrong += problems.count != expected;
	for (size_t i = 0; i < problems.count && i < expected; i++)
		wrong += !is_told(&problems.list[i], refused->problems[i]);
	for (size_t i = 0; wrong > 0 && i < problems.count; i++)
		print_message("%s\n    %u:%u %s\n", refused->text,
		    problems.list[i].line, problems.list[i].column,
		    problems.list[i].text);
	problems_done(&problems);
	return wrong;
}

static void
check_all(const struct refused *list, size_t count)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++)
		wrong += check(&list[i]);
	assert_int_equal(wrong, 0);
}

#define CHECK_ALL(list) check_all(list, sizeof(list) / sizeof((list)[0]))

/* P04, P05 */
static void
what_is_no_policy_is_refused(void **state)
{
	static const struct refused list[] = {
		{ "", { "1:0 not JSON" } },
		{ "// rules\n", { "1:1 not JSON" } },
		{ "[]", { "1:1 must be an object" } },
		{ "{}", { "1:1 must be a list", "1:1 which version" } },
		{ "{\"version\": 2, \"rules\": []}", { "1:13 version 1" } },
		{ "{\"version\": \"1\", \"rules\": []}", { "1:13 version 1" } },
		{ "{\"version\": 1}", { "1:1 must be a list" } },
		{ "{\"version\": 1, \"rules\": {}}",
		    { "1:25 must be a list" } },
		{ "{\"version\": 1, \"rules\": [], }", { "1:29 not JSON" } },
		{ "{\"version\": 1, \"rules\": []} x", { "1:29 not JSON" } },
		{ "{\"version\": 1, \"rules\": [],\n\"rules\": []}",
		    { "2:7 duplicate" } },
		{ "{\"version\": 1, \"rules\": [],\n \"limit\": {}}",
		    { "2:2 no key \"limit\"" } },
		{ "{\"version\": 1, \"rules\": [],\n \"limits\": {}}",
		    { "2:12 a limit in it" } },
		{ "{\"version\": 1, \"rules\": [],\n"
		  " \"limits\": {\"bytes\": 1, \"connections\": 0}}",
		    { "2:13 no key \"bytes\"", "2:40 number from 1" } },
		{ "{\"version\": 1, \"name\": 3, \"rules\": []}",
		    { "1:24 must be a text" } },
		{ "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", { "0:0 deep" } },
	};

	(void)state;
	CHECK_ALL(list);
}

/* B11, B15, B16, B25, P09 */
static void
a_host_that_is_none_is_refused_with_its_reason(void **state)
{
	static const struct refused list[] = {
		{ HOST("\"https://a.test/x\""), { "3:10 is a URL" } },
		{ HOST("\"a.test/x\""), { "3:10 is a URL" } },
		{ HOST("\"a.test:443\""), { "3:10 has a port" } },
		{ HOST("\"10.0.0.1\""), { "3:10 is an address" } },
		{ HOST("\"10.0.0.0/8\""), { "3:10 is an address" } },
		{ HOST("\"[::1]\""), { "3:10 is an address" } },
		{ HOST("\"::1\""), { "3:10 is an address" } },
		{ HOST("\"[::1%25lo]\""), { "3:10 not a host name" } },
		{ HOST("\"127.1\""), { "3:10 read as a number" } },
		{ HOST("\"0x7f.1\""), { "3:10 read as a number" } },
		{ HOST("\"a.test:80:80\""), { "3:10 has a port" } },
		{ HOST("\"a@b.test\""), { "3:10 not a host name" } },
		{ HOST("\"\""), { "3:10 not a host name" } },
		{ HOST("\"a\\nb.test\""), { "3:10 not a host name" } },
		{ HOST("\"a.test#\""), { "3:10 not a host name" } },
		{ HOST("\"a test\""), { "3:10 not a host name" } },
		{ HOST("\"a\\\"test\""), { "3:10 not a host name" } },
		{ HOST("\"a%2e.test\""), { "3:10 not a host name" } },
		{ HOST("\"-a.test\""), { "3:10 not a host name" } },
		{ HOST("\"a..test\""), { "3:10 not a host name" } },
		{ HOST("\".a.test\""), { "3:10 not a host name" } },
		{ HOST("\"*.\""), { "3:10 not a host name" } },
		{ HOST("\"*.a.*.test\""), { "3:10 more than one label" } },
		{ HOST("\"**.test\""), { "3:9 anybody can register" } },
		{ HOST("\"*.*\""), { "3:10 more than one label" } },
		{ HOST("\"xn--a.test\""), { "3:10 not a host name" } },
		{ HOST("\"@nothing\""), { "3:10 no set" } },
		{ HOST("\"\\u001b[2J\""), { "3:10 \"?[2J\" is not a" } },
		{ HOST("\"*\""), { "3:9 anybody can register" } },
		{ HOST("\"*.com\""), { "3:9 anybody can register" } },
		{ HOST("\"*.co.uk\""), { "3:9 anybody can register" } },
		{ HOST("\"*.github.io\""), { "3:9 anybody can register" } },
		{ HOST("\"api-*.com\""), { "3:9 anybody can register" } },
		{ HOST("3"), { "3:10 must be a text" } },
		{ HOST(""), { "3:9 matches nothing" } },
	};

	(void)state;
	CHECK_ALL(list);
}

/* P17: nothing is taken and then ignored. */
static const struct refused unusable[] = {
	{ RULE("\"action\": \"ask\",\n\"ask\": {\"uses\": 1}"),
	    { "4:9 no key \"uses\"" } },
	{ RULE("\"action\": \"ask\",\n\"ask\": {\"timeout_s\": 0}"),
	    { "4:22 number from 1 to 86400" } },
	{ RULE("\"action\": \"ask\",\n\"ask\": {\"grant_s\": 86401}"),
	    { "4:20 number from 1 to 86400" } },
	{ RULE("\"action\": \"ask\",\n\"ask\": {\"grant_uses\": 1.5}"),
	    { "4:23 number from 1 to 1000000" } },
	{ RULE("\"action\": \"ask\",\n\"ask\": []"),
	    { "4:8 must be an object" } },
	{ RULE("\"action\": \"ask\", \"protocol\": \"ssh\""),
	    { "3:11 only about HTTP requests" } },
	{ RULE("\"action\": \"ask\", \"access\": \"any\",\n"
	       "\"tls\": \"passthrough\""),
	    { "3:11 only about HTTP requests" } },
	{ RULE("\"credential\": \"a b\""), { "3:15 no name of a cred" } },
	{ RULE("\"credential\": [\"a\"]"), { "3:15 must be a text" } },
	{ RULE("\"credential\": \"a\",\n\"protocol\": \"ssh\""),
	    { "3:15 cannot be judged" } },
	{ RULE("\"credential\": \"a\",\n\"action\": \"deny\""),
	    { "3:15 opens nothing" } },
	{ RULE("\"exe\": [\"git\"]"), { "3:9 no program could" } },
	{ RULE("\"exe\": [\"/usr/../bin/git\"]"), { "3:9 no program could" } },
	{ RULE("\"exe\": [\"sha256:0\"]"), { "3:9 no program could" } },
	{ RULE("\"exe\": \"/usr/bin/git\""), { "3:8 must be a list" } },
	{ RULE("\"exe\": []"), { "3:8 matches nothing" } },
	{ RULE("\"mcp\": {}"), { "3:8 by POST", "3:8 must be an object" } },
	{ RULE("\"mcp\": {\"tools\": [\"x\"]}"), { "3:8 by POST" } },
	{ RULE("\"access\": \"write\",\n\"mcp\": {\"tool\": []}"),
	    { "4:9 no key \"tool\"" } },
	{ RULE("\"access\": \"write\",\n\"mcp\": {\"methods\": [1]}"),
	    { "4:21 must be a text" } },
	{ RULE("\"access\": \"any\", \"tls\": \"passthrough\",\n"
	       "\"mcp\": {\"tools\": [\"x\"]}"),
	    { "4:8 cannot be judged" } },
	{ RULE("\"limits\": {}"), { "3:11 a limit in it" } },
	{ RULE("\"limits\": {\"connections\": \"many\"}"),
	    { "3:27 number from 1" } },
	{ RULE("\"access\": \"any\", \"tls\": \"passthrough\",\n"
	       "\"limits\": {\"requests_per_minute\": 1}"),
	    { "4:11 counted only where" } },
	{ RULE("\"action\": \"deny\",\n\"limits\": {\"bytes_in\": 1}"),
	    { "4:11 opens nothing" } },
	{ RULE("\"clear\": true"), { "3:10 it has none" } },
	{ RULE("\"echo\": \"mask\""), { "3:9 it has none" } },
	{ RULE("\"credential\": \"a\",\n\"echo\": \"hide\""),
	    { "4:9 none of the words" } },
	{ RULE("\"log\": [\"dns\"]"), { "3:9 none of the words" } },
	{ RULE("\"log\": \"mcp\""), { "3:8 must be a list" } },
	{ RULE("\"ask\": {}"), { "3:8 asks nobody" } },
	{ RULE("\"hosts\": []"), { "3:1 no key \"hosts\"" } },
	{ RULE("\"tls\": \"passthrough\""), { "3:8 nobody sees" } },
	{ RULE("\"tls\": \"passthrough\", \"access\": \"any\",\n"
	       "\"path\": [\"/a\"]"),
	    { "4:9 cannot be judged" } },
	{ RULE("\"tls\": \"passthrough\", \"access\": \"any\",\n"
	       "\"upstream_ca\": \"-----BEGIN CERTIFICATE-----\""),
	    { "4:16 cannot be judged" } },
	{ RULE("\"protocol\": \"tcp\""), { "3:13 needs a port" } },
	{ RULE("\"protocol\": \"ssh\",\n\"path\": [\"/\"]"),
	    { "4:9 cannot be judged" } },
	{ RULE("\"protocol\": \"ssh\",\n\"access\": \"read\""),
	    { "4:11 about HTTP" } },
	{ RULE("\"protocol\": \"ssh\",\n\"tls\": \"inspect\""),
	    { "4:8 never looked into" } },
	{ RULE("\"action\": \"deny\",\n\"private\": true"),
	    { "4:12 opens nothing" } },
	{ RULE("\"action\": \"deny\",\n\"access\": \"write\""),
	    { "4:11 deny reading too" } },
	{ RULE("\"access\": \"read\",\n\"methods\": [\"GET\"]"),
	    { "4:12 instead of" } },
	{ RULE("\"methods\": [\"get\"]"), { "3:13 with their case" } },
	{ RULE("\"methods\": [\"A B\"]"), { "3:13 cannot stand here" } },
	{ RULE("\"port\": [0]"), { "3:10 no port" } },
	{ RULE("\"port\": [65536]"), { "3:10 no port" } },
	{ RULE("\"port\": [\"9-8\"]"), { "3:10 no port" } },
	{ RULE("\"port\": []"), { "3:9 matches nothing" } },
	{ RULE("\"path\": [\"a\"]"), { "3:10 no path could" } },
	{ RULE("\"path\": [\"/a/../b\"]"), { "3:10 no path could" } },
	{ RULE("\"path\": [\"/a//b\"]"), { "3:10 no path could" } },
	{ RULE("\"path\": [\"/a?b\"]"), { "3:10 has a query" } },
	{ RULE("\"query\": {}"), { "3:10 must be an object" } },
	{ RULE("\"valid\": {\"until\": \"2026-02-30T00:00:00Z\"}"),
	    { "3:20 no point in time" } },
	{ RULE("\"valid\": {\"from\": \"2026-02-01T00:00:00Z\",\n"
	       "\"until\": \"2026-01-01T00:00:00Z\"}"),
	    { "3:10 ends before" } },
	{ RULE("\"private\": 1"), { "3:12 true or false" } },
	{ RULE("\"resolve\": \"a.test\""), { "3:12 no address" } },
	{ RULE("\"resolve\": \"0.0.0.0\""), { "3:12 unspecified" } },
	{ RULE("\"upstream_ca\": \"ca.pem\""), { "3:16 certificate" } },
	{ RULE("\"address\": [\"10.0.0.0/8\"]"), { "3:12 never matches" } },
	{ RULES("{\"id\": \"r\"}"), { "2:1 where to" } },
	{ RULES("{\"host\": [\"a.test\"]}"), { "2:1 needs an \"id\"" } },
	{ RULES("{\"id\": \"a b\", \"host\": [\"a.test\"]}"),
	    { "2:8 is no id" } },
	{ RULES("{\"id\": \"r\", \"address\": [\"10.0.0.1/8\"]}"),
	    { "2:25 behind its prefix" } },
	{ RULES("{\"id\": \"r\", \"address\": [\"0.0.0.0/0\"]}"),
	    { "2:24 as large as this" } },
	{ RULES("{\"id\": \"r\", \"address\": [\"::\"]}"),
	    { "2:25 unspecified" } },
	{ RULES("{\"id\": \"r\", \"address\": [\"0.0.0.0\"]}"),
	    { "2:25 unspecified" } },
	{ RULES("7"), { "2:1 must be an object" } },
};

static void
a_key_that_would_be_ignored_is_refused(void **state)
{
	(void)state;
	CHECK_ALL(unusable);
}

static void
rules_that_do_not_go_together_are_refused(void **state)
{
	static const struct refused list[] = {
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},\n"
			"{\"id\": \"a\", \"host\": [\"b.test\"]}"),
		    { "3:1 has the id" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"x.a.test\"]},\n"
			"{\"id\": \"no\", \"host\": [\"*.a.test\"],"
			" \"action\": \"deny\"}"),
		    { "2:1 \"a\" never matches, \"no\" denies" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
			" \"path\": [\"/x/y/*\"]},\n"
			"{\"id\": \"no\", \"host\": [\"a.test\"],"
			" \"path\": [\"/x/**\"], \"action\": \"deny\"}"),
		    { "2:1 never matches" } },
		{ RULES("{\"id\": \"a\", \"address\": [\"10.1.0.0/16\"]},\n"
			"{\"id\": \"no\", \"address\": [\"10.0.0.0/8\"],"
			" \"action\": \"deny\"}"),
		    { "2:1 never matches" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
			" \"access\": \"any\", \"tls\": \"passthrough\"},\n"
			"{\"id\": \"no\", \"host\": [\"a.test\"],"
			" \"path\": [\"/x/**\"], \"action\": \"deny\"}"),
		    { "2:1 passes unread" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},\n"
			"{\"id\": \"b\", \"host\": [\"a.test\"],"
			" \"path\": [\"/x\"], \"private\": true}"),
		    { "3:1 \"a\" and \"b\" are for the same host" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"*.a.test\"],"
			" \"access\": \"write\"},\n"
			"{\"id\": \"b\", \"host\": [\"*.a.test\"],"
			" \"access\": \"any\", \"tls\": \"passthrough\"}"),
		    { "3:1 \"a\" and \"b\" are equally specific" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},\n"
			"{\"id\": \"b\", \"host\": [\"a.test\"],"
			" \"port\": [443], \"protocol\": \"tcp\"}"),
		    { "3:1 equally specific" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a*.x.test\"]},\n"
			"{\"id\": \"b\", \"host\": [\"*b.x.test\"],"
			" \"access\": \"any\", \"tls\": \"passthrough\"}"),
		    { "3:1 equally specific" } },
		/* The "*" of one stands in another label than that of the
		 * other. */
		{ RULES("{\"id\": \"a\", \"host\": [\"api.*.x.test\"]},\n"
			"{\"id\": \"b\", \"host\": [\"*pi.b.x.test\"],"
			" \"access\": \"any\", \"tls\": \"passthrough\"}"),
		    { "3:1 equally specific" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"*pi.b.x.test\"]},\n"
			"{\"id\": \"b\", \"host\": [\"api.*.x.test\"],"
			" \"private\": true}"),
		    { "3:1 for the same host" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
			" \"credential\": \"one\"},\n"
			"{\"id\": \"b\", \"host\": [\"a.test\"]}"),
		    { "3:1 differ in \"credential\"" } },
		{ RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
			" \"exe\": [\"/usr/bin/a*\"]},\n"
			"{\"id\": \"b\", \"host\": [\"a.test\"],"
			" \"exe\": [\"/usr/bin/*b\"], \"limits\":"
			" {\"bytes_in\": 1}}"),
		    { "3:1 or \"limits\"" } },
	};

	(void)state;
	CHECK_ALL(list);
}

static void
rules_that_go_together_are_accepted(void **state)
{
	static const char *const texts[] = {
		RULES(""),
		HOST("\"*.amazonaws.com\", \"localhost\""),
		RULES("{\"id\": \"a\", \"host\": [\"*\"], \"wide\": true}"),
		RULES("{\"id\": \"no\", \"host\": [\"*\"],"
		      " \"action\": \"deny\"}"),
		RULES("{\"id\": \"a\", \"host\": [\"a.test\", \"b.test\"]},"
		      "{\"id\": \"no\", \"host\": [\"a.test\"],"
		      " \"action\": \"deny\"}"),
		RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},"
		      "{\"id\": \"b\", \"host\": [\"a.test\"],"
		      " \"port\": [8080], \"private\": true}"),
		RULES("{\"id\": \"a\", \"host\": [\"a.test\"]},"
		      "{\"id\": \"no\", \"host\": [\"a.test\"],"
		      " \"methods\": [\"OPTIONS\"], \"action\": \"deny\"}"),
		RULES("{\"id\": \"a\", \"host\": [\"api-*.x.test\"]},"
		      "{\"id\": \"b\", \"host\": [\"web-*.x.test\"],"
		      " \"access\": \"any\", \"tls\": \"passthrough\"}"),
		RULES("{\"id\": \"a\", \"address\": [\"fc00::/7\"]}"),
		RULES("{\"id\": \"a\", \"host\": [\"api.*.x.test\"]},"
		      "{\"id\": \"b\", \"host\": [\"*pj.b.x.test\"],"
		      " \"private\": true},"
		      "{\"id\": \"c\", \"host\": [\"*.test.c.x.y\"],"
		      " \"access\": \"any\", \"tls\": \"passthrough\"},"
		      "{\"id\": \"d\", \"host\": [\"web.*.x.test\"],"
		      " \"private\": true}"),
		/* Who asks, or what, tells these apart. */
		RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
		      " \"credential\": \"one\", \"exe\": [\"/bin/a\"]},"
		      "{\"id\": \"b\", \"host\": [\"a.test\"],"
		      " \"credential\": \"two\", \"exe\": [\"/bin/b\"]}"),
		RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
		      " \"access\": \"write\", \"credential\": \"one\","
		      " \"mcp\": {\"tools\": [\"a*\"]}},"
		      "{\"id\": \"b\", \"host\": [\"a.test\"],"
		      " \"access\": \"write\","
		      " \"mcp\": {\"tools\": [\"b*\"]}}"),
		/* A longer path supplies the settings; so does who asks. */
		RULES("{\"id\": \"a\", \"host\": [\"a.test\"],"
		      " \"credential\": \"one\", \"clear\": true,"
		      " \"echo\": \"flag\", \"log\": [\"mcp\"],"
		      " \"path\": [\"/a/**\"]},"
		      "{\"id\": \"b\", \"host\": [\"a.test\"],"
		      " \"limits\": {\"connections\": 4}},"
		      "{\"id\": \"c\", \"host\": [\"a.test\"],"
		      " \"action\": \"ask\"}"),
		"{\"version\": 1, \"rules\": [],"
		" \"limits\": {\"bytes_out\": 1}}",
		"{\"$schema\": \"x\", \"version\": 1, \"note\": \"n\","
		" \"name\": \"n\", \"sets\": {\"@m\": [\"a.test\"]},"
		" \"rules\": [{\"id\": \"a\", \"host\": [\"@m\", \"@m\"],"
		" \"reason\": \"r\", \"note\": \"n\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct problems problems = { 0 };
		struct policy *policy = NULL;

		if (load(texts[i], &policy, &problems) != STATUS_OK)
			fail_msg("%s: %s", texts[i], problems.list[0].text);
		policy_unref(policy);
	}
}

static void
all_problems_are_told_in_the_order_of_the_text(void **state)
{
	static const struct refused list[] = {
		{ "{\"version\": 1,\n"
		  "\"sets\": {\"@e\": [], \"x\": [\"a b\"]},\n"
		  "\"rules\": [\n"
		  "{\"id\": \"a\", \"host\": [\"a b\"], \"reasn\": \"\"},\n"
		  "{\"id\": \"b\", \"host\": [\"*.com\"], \"port\": [\"x\"]},\n"
		  "{\"id\": \"c\", \"path\": \"/\", \"host\": [\"ü ü\"], "
		  "\"no\": 1}]}",
		    { "2:16 is empty", "2:20 no name for a set",
			"2:26 not a host name", "4:22 not a host name",
			"4:30 no key \"reasn\"", "5:21 anybody can register",
			"5:41 no port", NULL } },
	};
	struct problems problems = { 0 };
	struct policy *policy = NULL;

	(void)state;
	assert_int_equal(
	    load(list[0].text, &policy, &problems), STATUS_PROBLEM);
	assert_int_equal(problems.count, 10);
	for (size_t i = 0; list[0].problems[i] != NULL; i++)
		if (!is_told(&problems.list[i], list[0].problems[i]))
			fail_msg("%u:%u %s, expected %s", problems.list[i].line,
			    problems.list[i].column, problems.list[i].text,
			    list[0].problems[i]);
	assert_string_equal(problems.list[4].path, "$.rules[0].reasn");
	assert_string_equal(problems.list[4].cure, "write \"reason\"");
	problems_done(&problems);
}

static void
a_url_in_place_of_a_host_is_taken_apart(void **state)
{
	static const struct {
		const char *text, *cure;
	} urls[] = {
		{ HOST("\"https://a.test/x\""),
		    "write \"a.test\" here, and a path under \"path\"" },
		{ HOST("\"http://a.test:80/x\""),
		    "write \"a.test\" here, \"port\": [80], and a path under "
		    "\"path\"" },
		{ HOST("\"git://a.test:9418\""),
		    "write \"a.test\" here, \"port\": [9418], \"protocol\": "
		    "\"tcp\"" },
		{ HOST("\"ssh://a.test\""),
		    "write \"a.test\" here, \"protocol\": \"ssh\"" },
		{ HOST("\"a.test:8080\""),
		    "write \"a.test\" here, and \"port\": [8080] beside it" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct problems problems = { 0 };
		struct policy *policy = NULL;

		assert_int_equal(
		    load(urls[i].text, &policy, &problems), STATUS_PROBLEM);
		assert_string_equal(problems.list[0].cure, urls[i].cure);
		problems_done(&problems);
	}
}

static void
a_document_that_is_too_long_is_refused_unread(void **state)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	char *text = malloc(LIMIT_POLICY_BYTES + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', LIMIT_POLICY_BYTES + 1);
	assert_int_equal(document_load(cursor_of(text, LIMIT_POLICY_BYTES + 1),
			     "long", &policy, &problems),
	    STATUS_PROBLEM);
	assert_non_null(strstr(problems.list[0].text, "too long"));
	problems_done(&problems);
	free(text);
}

static void
a_policy_is_named_by_itself_or_by_its_reader(void **state)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;

	(void)state;
	assert_int_equal(load(RULES(""), &policy, &problems), STATUS_OK);
	assert_string_equal(policy_name(policy), "test");
	policy_unref(policy);
	assert_int_equal(load("{\"version\": 1, \"name\": \"own\","
			      " \"rules\": []}",
			     &policy, &problems),
	    STATUS_OK);
	assert_string_equal(policy_name(policy), "own");
	policy_unref(policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_policy_is_refused),
		cmocka_unit_test(
		    a_host_that_is_none_is_refused_with_its_reason),
		cmocka_unit_test(a_key_that_would_be_ignored_is_refused),
		cmocka_unit_test(rules_that_do_not_go_together_are_refused),
		cmocka_unit_test(rules_that_go_together_are_accepted),
		cmocka_unit_test(
		    all_problems_are_told_in_the_order_of_the_text),
		cmocka_unit_test(a_url_in_place_of_a_host_is_taken_apart),
		cmocka_unit_test(a_document_that_is_too_long_is_refused_unread),
		cmocka_unit_test(a_policy_is_named_by_itself_or_by_its_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
