#include "gateway/net/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
what_is_given_back_is_lent_again(void **state)
{
	struct pool *pool = pool_new(100, 1);
	void *first, *second;

	(void)state;
	assert_non_null(pool);
	assert_int_equal(pool_size(pool), 100);
	first = pool_take(pool);
	assert_non_null(first);
	pool_give(pool, first);
	second = pool_take(pool);
	assert_ptr_equal(first, second);
	pool_give(pool, second);
	pool_free(pool);
}

/* The leak sanitizer sees whether the rest went back to the system. */
static void
no_more_than_asked_for_are_kept(void **state)
{
	struct pool *pool = pool_new(65536, 2);
	void *lent[8];

	(void)state;
	assert_non_null(pool);
	for (int i = 0; i < 8; i++) {
		lent[i] = pool_take(pool);
		assert_non_null(lent[i]);
	}
	for (int i = 0; i < 8; i++)
		pool_give(pool, lent[i]);
	pool_free(pool);
}

static void
nothing_is_accepted_as_a_buffer_and_as_a_pool(void **state)
{
	struct pool *pool = pool_new(16, 0);

	(void)state;
	assert_non_null(pool);
	pool_give(pool, NULL);
	pool_free(pool);
	pool_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_given_back_is_lent_again),
		cmocka_unit_test(no_more_than_asked_for_are_kept),
		cmocka_unit_test(nothing_is_accepted_as_a_buffer_and_as_a_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
