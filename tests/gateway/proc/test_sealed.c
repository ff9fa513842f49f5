#include "gateway/proc/sealed.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void
text_reads_from_its_beginning(void **state)
{
	char out[8];
	int fd = -1;

	(void)state;
	assert_int_equal(sealed_of("plan", "text", 4, &fd), STATUS_OK);
	assert_int_equal(read(fd, out, sizeof(out)), 4);
	assert_memory_equal(out, "text", 4);
	assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	(void)close(fd);
}

static void
nobody_can_change_it(void **state)
{
	int fd = -1;

	(void)state;
	assert_int_equal(sealed_of("plan", "text", 4, &fd), STATUS_OK);
	assert_int_equal(pwrite(fd, "T", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_ptr_equal(
	    mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
	    MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	(void)close(fd);
}

static void
a_name_that_is_too_long_gives_nothing(void **state)
{
	char name[300];
	int fd = -7;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(sealed_of(name, "text", 4, &fd), STATUS_SYSTEM);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fd, -7);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_reads_from_its_beginning),
		cmocka_unit_test(nobody_can_change_it),
		cmocka_unit_test(a_name_that_is_too_long_gives_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
