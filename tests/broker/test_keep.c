/*
 * What is kept must outlive any end of its writer: the old secret, or the new
 * one, and never less.
 */
#include "broker/keep.h"
#include "schema/problem.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	STOPS_MOST = 200, /* calls of one writer: it makes about ten */
	WROTE = 0,
	WROTE_NOT = 1
};

static char folder[] = "/tmp/exeat-keep-XXXXXX";

static struct keep *
open_keep(void)
{
	struct problem problem;
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct keep *keep = keep_new(fd, &problem);

	assert_non_null(keep);
	return keep;
}

/* What a broker that comes next finds, and whether it may write at once. */
static void
assert_kept(const char *name, const char *one, const char *other)
{
	struct problem problem = { .text = "" };
	struct keep *keep = open_keep();
	struct keep_entry *entry;
	const struct secret *secret;

	assert_int_equal(keep_take(keep, name, &entry, &problem), STATUS_OK);
	secret = keep_secret(entry);
	assert_non_null(secret);
	if (!cursor_equals(secret_bytes(secret), one))
		assert_true(cursor_equals(secret_bytes(secret), other));
	keep_release(entry);
	keep_free(keep);
}

static int
put(const char *name, const char *text)
{
	struct problem problem = { .text = "" };
	struct keep *keep = open_keep();
	struct keep_entry *entry;
	int status = keep_take(keep, name, &entry, &problem);

	if (status == STATUS_OK) {
		status = keep_put(entry, cursor_of_text(text), &problem);
		keep_release(entry);
	}
	keep_free(keep);
	return status;
}

/* A writer that stops at each of its system calls, where we may end it. */
static pid_t
start_writer(const char *name, const char *text)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 ||
		    raise(SIGSTOP) != 0)
			_exit(WROTE_NOT);
		_exit(put(name, text) == STATUS_OK ? WROTE : WROTE_NOT);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return -1; /* nothing may be traced here */
	return pid;
}

/* Whether it was still there to be ended at its stop of that number. */
static bool
kill_at(const char *name, const char *text, int stop)
{
	pid_t pid = start_writer(name, text);
	int status;

	if (pid < 0) {
		print_message("processes cannot be traced here\n");
		skip();
	}
	for (int i = 0; i < stop; i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status)) {
			assert_int_equal(WEXITSTATUS(status), WROTE);
			return false;
		}
		assert_true(WIFSTOPPED(status));
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	return true;
}

static void
a_writer_killed_at_any_call_leaves_the_old_secret_or_the_new(void **state)
{
	char text[32], before[32] = "secret 0";
	int stop = 0;

	(void)state;
	assert_int_equal(put("killed", before), STATUS_OK);
	for (stop = 0; stop < STOPS_MOST; stop++) {
		assert_true(
		    snprintf(text, sizeof(text), "secret %d", stop + 1) > 0);
		if (!kill_at("killed", text, stop))
			break;
		assert_kept("killed", before, text);
		/* From here on it is known which of the two it is. */
		assert_int_equal(put("killed", text), STATUS_OK);
		assert_kept("killed", text, text);
		memcpy(before, text, sizeof(before));
	}
	/* It went through whole at last, and that stays. */
	assert_in_range(stop, 10, STOPS_MOST - 1);
	assert_kept("killed", text, text);
}

static void
what_another_holds_is_not_taken(void **state)
{
	struct problem problem = { .text = "" };
	struct keep *one = open_keep(), *other = open_keep();
	struct keep_entry *entry, *none;

	(void)state;
	assert_int_equal(keep_take(one, "held", &entry, &problem), STATUS_OK);
	assert_null(keep_secret(entry));
	assert_int_equal(
	    keep_take(other, "held", &none, &problem), STATUS_AGAIN);
	keep_release(entry);
	assert_int_equal(keep_take(other, "held", &none, &problem), STATUS_OK);
	keep_release(none);
	keep_free(one);
	keep_free(other);
}

static void
what_is_kept_is_its_owners_alone(void **state)
{
	char path[200];
	struct stat st;

	(void)state;
	assert_int_equal(put("alone", "secret"), STATUS_OK);
	assert_true(snprintf(path, sizeof(path), "%s/alone", folder) > 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* One that others could read is none of ours. */
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(put("alone", "another"), STATUS_PROBLEM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("elsewhere", path), 0);
	assert_int_equal(put("alone", "another"), STATUS_PROBLEM);
}

static void
names_that_lead_elsewhere_are_none(void **state)
{
	static const char *const names[] = { "", ".", "..", ".hidden", "a/b",
		"../a", "a b" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(put(names[i], "secret"), STATUS_PROBLEM);
}

static void
a_folder_that_is_open_to_others_is_refused(void **state)
{
	struct problem problem = { .text = "" };
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(chmod(folder, 0750), 0);
	assert_null(keep_new(fd, &problem));
	assert_non_null(strstr(problem.text, "not ours alone"));
	assert_int_equal(chmod(folder, 0700), 0);
}

static int
make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) == NULL ? -1 : 0;
}

static int
remove_folder(void **state)
{
	DIR *list = opendir(folder);
	const struct dirent *file;

	(void)state;
	if (list == NULL)
		return -1;
	while ((file = readdir(list)) != NULL)
		(void)unlinkat(dirfd(list), file->d_name, 0);
	(void)closedir(list);
	return rmdir(folder);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_writer_killed_at_any_call_leaves_the_old_secret_or_the_new),
		cmocka_unit_test(what_another_holds_is_not_taken),
		cmocka_unit_test(what_is_kept_is_its_owners_alone),
		cmocka_unit_test(names_that_lead_elsewhere_are_none),
		cmocka_unit_test(a_folder_that_is_open_to_others_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
