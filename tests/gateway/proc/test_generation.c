#include "gateway/proc/generation.h"
#include "schema/status.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void
a_reader_sees_a_bump_at_once(void **state)
{
	struct generation *writer = NULL, *reader = NULL;

	(void)state;
	assert_int_equal(generation_make(&writer), STATUS_OK);
	assert_int_equal(
	    generation_open(generation_fd(writer), &reader), STATUS_OK);
	assert_int_equal(generation_read(reader, 7), 1);
	generation_bump(writer, 7);
	assert_int_equal(generation_read(reader, 7), 2);
	assert_int_equal(generation_read(reader, 8), 1);
	/* Nothing was ever given under this one. */
	assert_int_equal(generation_read(reader, GENERATION_SLOTS), 0);
	generation_free(reader);
	generation_free(writer);
}

static void
nobody_else_can_write(void **state)
{
	struct generation *writer = NULL;
	int fd;

	(void)state;
	assert_int_equal(generation_make(&writer), STATUS_OK);
	fd = generation_fd(writer);
	assert_ptr_equal(
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
	    MAP_FAILED);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	generation_free(writer);
}

static void
a_page_that_may_change_is_refused(void **state)
{
	struct generation *reader = NULL;
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(generation_open(fd, &reader), STATUS_REFUSED);
	assert_int_equal(
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_int_equal(generation_open(fd, &reader), STATUS_REFUSED);
	assert_null(reader);
	(void)close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reader_sees_a_bump_at_once),
		cmocka_unit_test(nobody_else_can_write),
		cmocka_unit_test(a_page_that_may_change_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
