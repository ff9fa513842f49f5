#include "gateway/launch/claim.h"

#include "gateway/launch/kinship.h"
#include "gateway/launch/remote.h"
#include "gateway/proc/clock.h"
#include "gateway/proc/procfs.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct remote remote;
static struct claim claim;

/* As if we waited in a call with these arguments. */
static void
read_own(const void *path, const void *argv)
{
	uint64_t from = 0, words = 0;

	memcpy(&from, &path, sizeof(path));
	memcpy(&words, &argv, sizeof(argv));
	/* What an earlier claim left must not show. */
	memset(&claim, 'x', sizeof(claim));
	remote_begin(&remote, getpid());
	claim_read(&remote, from, words, &claim);
}

/* The last bytes of a page behind which nothing is. */
static unsigned char *
edge(size_t length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(munmap(pages + page, page), 0);
	return pages + page - length;
}

static void
words_are_read_in_their_order(void **state)
{
	const char *const argv[] = { "sh", "", "-c", "true", NULL };

	(void)state;
	read_own("/bin/sh", argv);
	assert_string_equal(claim.path, "/bin/sh");
	assert_int_equal(claim.length, 12);
	assert_memory_equal(claim.argv, "sh\0\0-c\0true", 12);
	assert_false(claim.cut);
}

static void
a_vector_and_words_over_pages_are_read(void **state)
{
	static char pages[3 * REMOTE_PAGE];
	char *place = pages + REMOTE_PAGE - (size_t)pages % REMOTE_PAGE;
	const char *argv[] = { NULL, "second", NULL };
	char *vector = place + REMOTE_PAGE - sizeof(argv[0]) - 3;

	(void)state;
	argv[0] = memcpy(place - 4, "over pages", 11);
	memcpy(vector, argv, sizeof(argv));
	read_own("/bin/sh", vector);
	assert_int_equal(claim.length, 18);
	assert_memory_equal(claim.argv, "over pages\0second", 18);
	assert_false(claim.cut);
}

static void
what_ends_where_its_mapping_does_is_read(void **state)
{
	const void *argv[] = { NULL, NULL };
	void *place = edge(sizeof(argv));

	(void)state;
	argv[0] = memcpy(edge(5), "word", 5);
	memcpy(place, argv, sizeof(argv));
	read_own(memcpy(edge(8), "/bin/sh", 8), place);
	assert_string_equal(claim.path, "/bin/sh");
	assert_int_equal(claim.length, 5);
	assert_false(claim.cut);
}

static void
what_cannot_be_read_to_its_end_is_cut(void **state)
{
	const void *argv[] = { "first", NULL, NULL };

	(void)state;
	argv[1] = memcpy(edge(4), "word", 4);
	read_own(memcpy(edge(4), "/bin", 4), argv);
	assert_string_equal(claim.path, "/bin");
	assert_true(claim.cut);
	assert_int_equal(claim.length, 10);
	assert_string_equal(claim.argv + 6, "word");

	read_own(NULL, memcpy(edge(sizeof(argv[0])), argv, sizeof(argv[0])));
	assert_string_equal(claim.path, "");
	assert_true(claim.cut);
	assert_int_equal(claim.length, 6);

	read_own((const void *)16, (const void *)16);
	assert_string_equal(claim.path, "");
	assert_int_equal(claim.length, 0);
	assert_true(claim.cut);
}

static void
more_than_a_claim_holds_is_cut(void **state)
{
	static char word[2 * LIMIT_CLAIM_BYTES];
	const char *argv[100] = { "a", word };

	(void)state;
	memset(word, 'w', sizeof(word) - 1);
	read_own(word, argv);
	assert_int_equal(strlen(claim.path), LIMIT_CLAIM_PATH - 1);
	assert_true(claim.cut);
	assert_int_equal(claim.length, LIMIT_CLAIM_BYTES - 1);

	for (size_t i = 0; i < 99; i++)
		argv[i] = "a";
	read_own("/bin/sh", argv);
	assert_true(claim.cut);
	assert_int_equal(claim.length, 128);
}

#define MATCHES(name, line) claim_matches(&claim, name, line, sizeof(line))

static void
the_same_words_match_whatever_the_name(void **state)
{
	const char *const argv[] = { "sh", "-c", "true", NULL };

	(void)state;
	read_own("/bin/sh", argv);
	assert_true(MATCHES("sh", "sh\0-c\0true"));
	assert_true(MATCHES("title", "sh\0-c\0true"));
	assert_false(MATCHES("sh", "sh\0-c\0false"));
	assert_false(MATCHES("sh", "sh\0-c\0true\0"));
	assert_false(claim_matches(&claim, "sh", "", 0));
}

static void
a_script_matches_behind_its_interpreter(void **state)
{
	const char *const argv[] = { "x", "word", NULL };

	(void)state;
	read_own("./a/rather-long-name.sh", argv);
	assert_true(MATCHES(
	    "rather-long-nam", "/bin/sh\0-e\0./a/rather-long-name.sh\0word"));
	assert_false(MATCHES(
	    "rather-long", "/bin/sh\0-e\0./a/rather-long-name.sh\0word"));
	assert_false(MATCHES(
	    "rather-long-nam", "/bin/sh\0b./a/rather-long-name.sh\0word"));
	assert_false(
	    MATCHES("rather-long-nam", "./a/rather-long-name.sh\0word"));
}

/* timeout 5 ./tool word, which is not there */
static void
one_that_only_holds_the_words_does_not_match(void **state)
{
	const char *const argv[] = { "./tool", "word", NULL };

	(void)state;
	read_own("./tool", argv);
	assert_false(MATCHES("timeout", "timeout\0005\0./tool\0word"));
	assert_true(MATCHES("tool", "timeout\0005\0./tool\0word"));
}

static void
a_child_is_found_by_number_and_by_file(void **state)
{
	int proc = procfs_open();
	struct kinship kinship = kinship_of(proc);
	int64_t before = clock_boottime_us();
	pid_t pid = fork();
	struct kin kin = { 0, 0 };
	struct life life;

	(void)state;
	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(kinship_find(&kinship, pid, &kin));
		assert_int_equal(kin.pid, pid);
		assert_int_equal(kin.parent, getpid());
		kinship.by_file = true;
	}
	assert_true(kinship_life(&kinship, pid, &life));
	assert_true(life.since_us >= before - 20000);
	assert_true(life.since_us <= clock_boottime_us());
	assert_string_equal(life.name, "test_claim");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(kinship_find(&kinship, pid, &kin));
	kinship.by_file = false;
	assert_false(kinship_find(&kinship, pid, &kin));
	assert_false(kinship_life(&kinship, pid, &life));
	(void)close(proc);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_read_in_their_order),
		cmocka_unit_test(a_vector_and_words_over_pages_are_read),
		cmocka_unit_test(what_ends_where_its_mapping_does_is_read),
		cmocka_unit_test(what_cannot_be_read_to_its_end_is_cut),
		cmocka_unit_test(more_than_a_claim_holds_is_cut),
		cmocka_unit_test(the_same_words_match_whatever_the_name),
		cmocka_unit_test(a_script_matches_behind_its_interpreter),
		cmocka_unit_test(one_that_only_holds_the_words_does_not_match),
		cmocka_unit_test(a_child_is_found_by_number_and_by_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
