#include "gateway/proc/spawn.h"

#include "schema/status.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const empty[] = { NULL };

/* A shell's script with its descriptor 1 on a pipe; gives what it printed. */
static int
run_shell(const char *script, struct spawn *spawn, char *out, size_t size)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct spawned spawned;
	struct problem problem;
	size_t used = 0;
	ssize_t got;
	int pipes[2], status = -1;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	spawn->path = "/bin/sh";
	spawn->argv = argv;
	if (spawn->envp == NULL)
		spawn->envp = empty;
	spawn->fds[1] = pipes[1];
	assert_int_equal(spawn_start(spawn, &spawned, &problem), STATUS_OK);
	(void)close(pipes[1]);
	do {
		got = read(pipes[0], out + used, size - 1 - used);
		used += got > 0 ? (size_t)got : 0;
	} while (got > 0);
	out[used] = '\0';
	(void)close(pipes[0]);
	assert_true(spawn_wait(&spawned, -1, &status));
	spawned_done(&spawned);
	return status;
}

static void
child_has_exactly_its_descriptors(void **state)
{
	struct spawn spawn = { .fds = { 0, -1, 2 }, .count = 3 };
	char out[256];
	int stray = dup(0);

	(void)state;
	/* Even one that would survive an exec. */
	assert_int_equal(fcntl(stray, F_SETFD, 0), 0);
	(void)run_shell("for f in /proc/$$/fd/*; do echo ${f##*/}; done",
	    &spawn, out, sizeof(out));
	/* dash itself holds no other but the glob's own folder, if any. */
	assert_non_null(strstr(out, "0\n1\n2\n"));
	assert_null(strstr(out, "\n4\n"));
	(void)close(stray);
}

static void
descriptors_can_change_places(void **state)
{
	struct spawn spawn = { .fds = { 0, -1, 2, -1, -1 }, .count = 5 };
	char out[256];
	int a[2], b[2];

	(void)state;
	assert_int_equal(pipe2(a, O_CLOEXEC), 0);
	assert_int_equal(pipe2(b, O_CLOEXEC), 0);
	assert_int_equal(write(a[1], "from a\n", 7), 7);
	assert_int_equal(write(b[1], "from b\n", 7), 7);
	spawn.fds[3] = b[0];
	spawn.fds[4] = a[0];
	(void)run_shell(
	    "read x <&3; read y <&4; echo $x, $y", &spawn, out, sizeof(out));
	assert_string_equal(out, "from b, from a\n");
	for (int i = 0; i < 2; i++) {
		(void)close(a[i]);
		(void)close(b[i]);
	}
}

static void
child_has_no_other_environment(void **state)
{
	static const char *const envp[] = { "ONLY=this", NULL };
	struct spawn spawn = { .fds = { 0, -1, 2 }, .count = 3, .envp = envp };
	char out[4096];

	(void)state;
	(void)run_shell("/usr/bin/env -0 | tr '\\0' '\\n' | "
			"grep -v -e ^PWD= -e ^_= -e ^PATH=",
	    &spawn, out, sizeof(out));
	assert_string_equal(out, "ONLY=this\n");
}

static void
child_starts_with_signals_at_their_defaults(void **state)
{
	struct spawn spawn = { .fds = { 0, -1, 2 }, .count = 3 };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	sigset_t blocked, before;
	char out[64];
	int status;

	(void)state;
	(void)sigemptyset(&blocked);
	(void)sigaddset(&blocked, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &blocked, &before), 0);
	assert_int_equal(sigaction(SIGTERM, &ignore, &old), 0);
	status =
	    run_shell("kill -TERM $$; echo survived", &spawn, out, sizeof(out));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	assert_string_equal(out, "");
	assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void
program_that_is_not_there_is_told_and_leaves_no_child(void **state)
{
	struct spawn spawn = { .path = "/nonexistent/program",
		.argv = empty,
		.envp = empty,
		.fds = { 0, 1, 2 },
		.count = 3 };
	struct spawned spawned;
	struct problem problem = { .text = "" };

	(void)state;
	assert_int_equal(
	    spawn_start(&spawn, &spawned, &problem), STATUS_PROBLEM);
	assert_non_null(strstr(problem.text, "/nonexistent/program"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void
child_that_runs_is_not_reaped_and_can_be_killed(void **state)
{
	const char *argv[] = { "sh", "-c", "read x", NULL };
	struct spawn spawn = {
		.path = "/bin/sh", .argv = argv, .envp = empty, .count = 3
	};
	struct spawned spawned;
	int pipes[2], status = 0;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	spawn.fds[0] = pipes[0];
	spawn.fds[1] = 1;
	spawn.fds[2] = 2;
	assert_int_equal(spawn_start(&spawn, &spawned, NULL), STATUS_OK);
	assert_false(spawn_reap(&spawned, &status));
	assert_false(spawn_wait(&spawned, 0, &status));
	assert_int_equal(spawn_kill(&spawned, SIGKILL), STATUS_OK);
	assert_true(spawn_wait(&spawned, -1, &status));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(spawn_kill(&spawned, SIGKILL), STATUS_SYSTEM);
	spawned_done(&spawned);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_has_exactly_its_descriptors),
		cmocka_unit_test(descriptors_can_change_places),
		cmocka_unit_test(child_has_no_other_environment),
		cmocka_unit_test(child_starts_with_signals_at_their_defaults),
		cmocka_unit_test(
		    program_that_is_not_there_is_told_and_leaves_no_child),
		cmocka_unit_test(
		    child_that_runs_is_not_reaped_and_can_be_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
