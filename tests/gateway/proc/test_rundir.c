#include "gateway/proc/rundir.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], base[80];

static int
setup(void **state)
{
	(void)state;
	memcpy(folder, "/tmp/exeat-rundir-XXXXXX", 25);
	assert_non_null(mkdtemp(folder));
	assert_true(snprintf(base, sizeof(base), "%s/runs", folder) > 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	/* With the last run its base has gone. */
	assert_int_not_equal(access(base, F_OK), 0);
	return rmdir(folder);
}

static struct rundir *
make(const char *run)
{
	struct rundir *rundir = NULL;
	struct problem problem = { 0 };

	if (rundir_make(base, run, &rundir, &problem) != STATUS_OK)
		fail_msg("%s: %s", run, problem.text);
	return rundir;
}

struct names {
	char text[200];
	size_t count;
};

static void
on_run(const char *run, void *arg)
{
	struct names *names = arg;
	size_t used = strlen(names->text);

	names->count++;
	assert_true(snprintf(names->text + used, sizeof(names->text) - used,
			"%s ", run) > 0);
}

static void
expect_runs(const char *expected)
{
	struct names names = { .text = "" };
	struct problem problem = { 0 };

	assert_int_equal(
	    rundir_each(base, on_run, &names, &problem), STATUS_OK);
	assert_string_equal(names.text, expected);
}

static void
runs_are_told_by_name_and_gone_with_their_folders(void **state)
{
	struct rundir *b = make("run-b"), *a = make("run-a");
	struct stat st;

	(void)state;
	assert_int_equal(stat(base, &st), 0);
	assert_int_equal(st.st_mode & 07777, S_IRWXU);
	expect_runs("run-a run-b ");
	rundir_remove(a);
	expect_runs("run-b ");
	rundir_remove(b);
	rundir_remove(NULL);
	/* A base that is not there has no runs. */
	expect_runs("");
}

static void
who_connects_is_ours_and_is_heard(void **state)
{
	struct rundir *rundir = make("run-a");
	struct problem problem = { 0 };
	int fd = -1, peer;
	char letter = 0;

	(void)state;
	assert_int_equal(
	    rundir_connect(base, "run-a", &fd, &problem), STATUS_OK);
	peer = accept4(rundir_socket(rundir), NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
	assert_true(rundir_is_ours(peer));
	assert_true(rundir_is_ours(fd));
	assert_int_equal(send(fd, "x", 1, 0), 1);
	assert_int_equal(recv(peer, &letter, 1, 0), 1);
	assert_int_equal(letter, 'x');
	(void)close(fd);
	(void)close(peer);
	assert_int_equal(
	    rundir_connect(base, "run-b", &fd, &problem), STATUS_NOT_FOUND);
	rundir_remove(rundir);
	assert_int_equal(
	    rundir_connect(base, "run-a", &fd, &problem), STATUS_NOT_FOUND);
}

/* The lock goes with the process, however that ends. */
static void
what_a_killed_run_left_is_removed_by_the_next(void **state)
{
	struct rundir *other = make("run-b");
	struct problem problem = { 0 };
	int fd = -1, ready[2], status;
	char letter;
	pid_t child;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rundir *dead = NULL;

		if (rundir_make(base, "run-a", &dead, &problem) == STATUS_OK &&
		    write(ready[1], "x", 1) == 1)
			(void)pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &letter, 1), 1);
	expect_runs("run-a run-b ");
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(
	    rundir_connect(base, "run-a", &fd, &problem), STATUS_NOT_FOUND);
	expect_runs("run-b ");
	rundir_remove(other);
	(void)close(ready[0]);
	(void)close(ready[1]);
}

static void
names_that_lead_elsewhere_and_names_in_use_are_refused(void **state)
{
	static const char *const names[] = { "", ".", "..", "a/b", "../a" };
	struct rundir *rundir = make("run-a"), *again = NULL;
	struct problem problem = { 0 };
	int fd = -1;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_not_equal(
		    rundir_make(base, names[i], &again, &problem), STATUS_OK);
		assert_int_not_equal(
		    rundir_connect(base, names[i], &fd, &problem), STATUS_OK);
	}
	assert_int_not_equal(
	    rundir_make(base, "run-a", &again, &problem), STATUS_OK);
	expect_runs("run-a ");
	rundir_remove(rundir);
}

static void
base_that_others_could_open_is_refused(void **state)
{
	struct rundir *rundir = NULL;
	struct problem problem = { 0 };
	struct names names = { .text = "" };

	(void)state;
	assert_int_equal(mkdir(base, S_IRWXU | S_IRGRP), 0);
	assert_int_equal(chmod(base, S_IRWXU | S_IRGRP), 0);
	assert_int_not_equal(
	    rundir_make(base, "run-a", &rundir, &problem), STATUS_OK);
	assert_non_null(strstr(problem.text, "open to other accounts"));
	assert_int_not_equal(
	    rundir_each(base, on_run, &names, &problem), STATUS_OK);
	assert_int_equal(rmdir(base), 0);
	/* Nor is a link followed to one that is private. */
	assert_int_equal(symlink("/tmp", base), 0);
	assert_int_not_equal(
	    rundir_make(base, "run-a", &rundir, &problem), STATUS_OK);
	assert_int_equal(unlink(base), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs_are_told_by_name_and_gone_with_their_folders),
		TEST(who_connects_is_ours_and_is_heard),
		TEST(what_a_killed_run_left_is_removed_by_the_next),
		TEST(names_that_lead_elsewhere_and_names_in_use_are_refused),
		TEST(base_that_others_could_open_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
