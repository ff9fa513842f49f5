/* Tests of gateway/launch/plan. */
#include "gateway/launch/plan.h"
#include "gateway/launch/plan_parse.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BASE "\"version\":1,\"run\":\"r\",\"command\":[\"true\"]"

static int
parse(const char *text, struct plan *plan, struct problem *problem)
{
	return plan_parse(text, strlen(text), plan, problem);
}

/* Refused, and the problem names this place and these words. */
static void
expect(const char *text, const char *path, const char *words)
{
	struct plan plan = { .run = "untouched" };
	struct problem problem = { 0 };

	assert_int_equal(parse(text, &plan, &problem), STATUS_PROBLEM);
	assert_string_equal(problem.path, path);
	assert_non_null(strstr(problem.text, words));
	assert_string_equal(plan.run, "untouched");
}

static void
what_is_not_named_gets_the_narrow_default(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(parse("{" BASE "}", &plan, NULL), STATUS_OK);
	assert_string_equal(plan.command[0], "true");
	assert_null(plan.command[1]);
	assert_string_equal(plan.cwd, "/");
	assert_string_equal(plan.user, "agent");
	assert_string_equal(plan.hostname, "box");
	assert_int_equal(plan.pids, PLAN_PIDS);
	assert_int_equal(plan.open_files, PLAN_OPEN_FILES);
	assert_int_equal(plan.wall_ms, 0);
	assert_int_equal(plan.mount_count, 0);
	assert_false(plan.has_workspace);
	assert_false(plan.nested);
	assert_true(plan.ptrace);
	assert_true(plan.nic);
	plan_done(&plan);
}

static void
an_overlay_has_a_folder_and_layers(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(
	    parse("{" BASE ",\"workspace\":{\"path\":\"/w\",\"mode\":"
		  "\"overlay\",\"folder\":\"/b\",\"layers\":[\"/l2\","
		  "\"/l1\"]},\"secrets\":{\"mask\":[\"*.x\"],\"show\":"
		  "[\".env\"]}}",
		&plan, NULL),
	    STATUS_OK);
	assert_int_equal(plan.folder_count, 3);
	assert_string_equal(plan.folders[0].source, "/b");
	assert_true(plan.folders[0].writable);
	assert_string_equal(plan.folders[1].source, "/l2");
	assert_false(plan.folders[1].writable);
	assert_int_equal(plan.mask.count, 1);
	assert_string_equal(plan.show.list[0], ".env");
	plan_done(&plan);
}

static void
folders_belong_to_an_overlay_and_are_plain(void **state)
{
	(void)state;
	expect("{" BASE ",\"workspace\":{\"path\":\"/w\",\"mode\":"
	       "\"overlay\"}}",
	    "$.workspace.folder", "absolute path");
	expect("{" BASE ",\"workspace\":{\"path\":\"/w\",\"mode\":"
	       "\"overlay\",\"folder\":\"/b/../c\"}}",
	    "$.workspace.folder", "absolute path");
	expect("{" BASE ",\"workspace\":{\"path\":\"/w\",\"mode\":"
	       "\"direct\",\"folder\":\"/b\"}}",
	    "$.workspace", "only an overlay needs");
	expect("{" BASE ",\"secrets\":{\"mask\":[\"[a]\"]}}", "$.secrets",
	    "means nothing here");
}

static void
everything_can_be_named(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(
	    parse("{" BASE ",\"cwd\":\"/ws/a\",\"workspace\":{\"path\":\"/ws\","
		  "\"mode\":\"direct\"},\"env\":{\"A\":\"b\"},\"hostname\":"
		  "\"h\",\"user\":\"u\",\"mounts\":[{\"source\":\"/d\","
		  "\"at\":\"/data\",\"access\":\"ro\"}],\"limits\":{\"pids\":"
		  "7,\"open_files\":8,\"tmp_bytes\":9},\"wall_ms\":10,"
		  "\"network\":{\"nic\":false,\"proxy\":true},\"nested\":true,"
		  "\"ptrace\":"
		  "false}",
		&plan, NULL),
	    STATUS_OK);
	assert_true(plan.has_workspace);
	assert_int_equal(plan.mount_count, 2);
	assert_string_equal(plan.mounts[0].at, "/ws");
	assert_true(plan.mounts[0].writable);
	assert_string_equal(plan.mounts[1].source, "/d");
	assert_false(plan.mounts[1].writable);
	assert_string_equal(plan.env[0].name, "A");
	assert_int_equal(plan.pids, 7);
	assert_int_equal(plan.open_files, 8);
	assert_int_equal(plan.tmp_bytes, 9);
	assert_int_equal(plan.wall_ms, 10);
	assert_true(plan.nested);
	assert_false(plan.ptrace);
	assert_false(plan.nic);
	assert_true(plan.proxy);
	plan_done(&plan);
}

static void
no_workspace_may_be_said_with_null(void **state)
{
	struct plan plan;

	(void)state;
	assert_int_equal(
	    parse("{" BASE ",\"workspace\":null}", &plan, NULL), STATUS_OK);
	assert_false(plan.has_workspace);
	plan_done(&plan);
}

static void
keys_are_known_single_and_of_their_type(void **state)
{
	(void)state;
	expect("{" BASE ",\"policy\":1}", "$", "unknown key \"policy\"");
	expect("{" BASE ",\"run\":\"s\"}", "$", "duplicate");
	expect("{" BASE ",\"cwd\":1}", "$", "a string as \"cwd\"");
	expect("{" BASE ",\"nested\":\"no\"}", "$", "true or false");
	expect("{" BASE ",\"wall_ms\":1.5}", "$", "a whole number");
	expect("{\"version\":1,\"run\":\"r\"}", "$", "no \"command\"");
	expect("{" BASE ",\"limits\":{\"disk\":1}}", "$.limits", "unknown");
	expect("{" BASE ",\"network\":{\"mode\":1}}", "$.network", "unknown");
	expect("[]", "$", "not an object");
	expect("", "$", "JSON");
	expect("{" BASE "} x", "$", "JSON");
}

static void
values_are_in_range(void **state)
{
	(void)state;
	expect("{\"version\":2,\"run\":\"r\",\"command\":[\"a\"]}", "$.version",
	    "not 1");
	expect("{\"version\":1,\"run\":\"r\",\"command\":[]}", "$.command",
	    "no entry");
	expect("{\"version\":1,\"run\":\"r\",\"command\":[\"\"]}", "$.command",
	    "empty");
	expect("{\"version\":1,\"run\":\"r\",\"command\":[1]}", "$.command",
	    "no string");
	expect("{" BASE ",\"limits\":{\"pids\":0}}", "$.limits", "range");
	expect("{" BASE ",\"limits\":{\"open_files\":99999999}}", "$.limits",
	    "range");
	expect("{" BASE ",\"wall_ms\":-1}", "$", "wall_ms below zero");
	expect("{" BASE ",\"user\":\"root:x\"}", "$.user", "user name");
	expect("{" BASE ",\"user\":\"../x\"}", "$.user", "user name");
	expect("{" BASE ",\"hostname\":\"a b\"}", "$.hostname", "host name");
	expect("{" BASE ",\"env\":{\"A=B\":\"\"}}", "$.env", "variable");
	expect("{" BASE ",\"env\":{\"A\":1}}", "$.env", "no string as A");
	expect("{" BASE ",\"env\":{\"A\":\"\\u0000\"}}", "$", "JSON");
}

static void
paths_are_absolute_and_plain(void **state)
{
	static const char *const paths[] = { "ws", "", "/a/../b", "/a//b",
		"/a/.", "/a/", "/./a", "/.." };
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_true(snprintf(text, sizeof(text),
				"{" BASE ",\"cwd\":\"%s\"}", paths[i]) > 0);
		expect(text, "$.cwd", "absolute");
		assert_true(
		    snprintf(text, sizeof(text),
			"{" BASE ",\"workspace\":{\"path\":\"%s\",\"mode\":"
			"\"direct\"}}",
			paths[i]) > 0);
		expect(text, "$.workspace.path", "absolute");
	}
}

static void
the_view_itself_cannot_be_covered(void **state)
{
	static const char *const targets[] = { "/", "/usr", "/usr/lib/x",
		"/etc", "/etc/ssl", "/proc/1", "/dev", "/sys", "/tmp", "/home",
		"/bin", "/run" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		assert_true(
		    snprintf(text, sizeof(text),
			"{" BASE ",\"mounts\":[{\"source\":\"/a\",\"at\":"
			"\"%s\",\"access\":\"ro\"}]}",
			targets[i]) > 0);
		expect(text, "$.mounts[0]", "needs itself");
	}
}

static void
two_mounts_have_two_places(void **state)
{
	(void)state;
	expect("{" BASE ",\"workspace\":{\"path\":\"/ws\",\"mode\":\"direct\"},"
	       "\"mounts\":[{\"source\":\"/a\",\"at\":\"/ws\",\"access\":"
	       "\"ro\"}]}",
	    "$.mounts[0]", "same target");
	expect("{" BASE ",\"mounts\":[{\"source\":\"/a\",\"at\":\"/b\","
	       "\"access\":\"x\"}]}",
	    "$.mounts[0]", "\"ro\" or \"rw\"");
	expect("{" BASE ",\"workspace\":{\"path\":\"/ws\",\"mode\":\"wild\"}}",
	    "$.workspace.mode", "direct");
}

static void
a_plan_has_a_largest_size(void **state)
{
	static const char whole[] = "{" BASE "}";
	char *text = malloc(LIMIT_PLAN_BYTES + 1);
	struct plan plan;
	struct problem problem;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', LIMIT_PLAN_BYTES + 1);
	for (size_t i = 0; i < strlen(whole); i++)
		text[i] = whole[i];
	assert_int_equal(
	    plan_parse(text, LIMIT_PLAN_BYTES, &plan, NULL), STATUS_OK);
	plan_done(&plan);
	assert_int_equal(
	    plan_parse(text, LIMIT_PLAN_BYTES + 1, &plan, &problem),
	    STATUS_PROBLEM);
	assert_non_null(strstr(problem.text, "too long"));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_named_gets_the_narrow_default),
		cmocka_unit_test(an_overlay_has_a_folder_and_layers),
		cmocka_unit_test(folders_belong_to_an_overlay_and_are_plain),
		cmocka_unit_test(everything_can_be_named),
		cmocka_unit_test(no_workspace_may_be_said_with_null),
		cmocka_unit_test(keys_are_known_single_and_of_their_type),
		cmocka_unit_test(values_are_in_range),
		cmocka_unit_test(paths_are_absolute_and_plain),
		cmocka_unit_test(the_view_itself_cannot_be_covered),
		cmocka_unit_test(two_mounts_have_two_places),
		cmocka_unit_test(a_plan_has_a_largest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
