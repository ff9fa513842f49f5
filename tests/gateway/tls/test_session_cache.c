#include "gateway/tls/session_cache.h"

#include "schema/limits.h"

#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* A session that OpenSSL takes for one to resume. */
static SSL_SESSION *
session(unsigned char number)
{
	const unsigned char id[] = { 1, 2, number };
	SSL_SESSION *made = SSL_SESSION_new();

	assert_non_null(made);
	assert_int_equal(SSL_SESSION_set1_id(made, id, sizeof(id)), 1);
	return made;
}

static void
newest_session_of_a_peer_is_kept(void **state)
{
	struct session_cache *cache = session_cache_new();
	SSL_SESSION *first = session(1), *second = session(2);

	(void)state;
	assert_non_null(cache);
	assert_null(session_cache_get(cache, "api.test 443"));
	session_cache_put(cache, "api.test 443", first);
	assert_ptr_equal(session_cache_get(cache, "api.test 443"), first);
	session_cache_put(cache, "api.test 443", second);
	assert_ptr_equal(session_cache_get(cache, "api.test 443"), second);
	assert_null(session_cache_get(cache, "api.test 8443"));
	assert_int_equal(session_cache_count(cache), 1);
	session_cache_free(cache);
	session_cache_free(NULL);
}

static void
session_that_cannot_be_resumed_is_dropped(void **state)
{
	struct session_cache *cache = session_cache_new();

	(void)state;
	session_cache_put(cache, "api.test 443", SSL_SESSION_new());
	assert_null(session_cache_get(cache, "api.test 443"));
	assert_int_equal(session_cache_count(cache), 0);
	session_cache_free(cache);
}

static void
cache_is_bounded_and_drops_the_longest_unused(void **state)
{
	struct session_cache *cache = session_cache_new();
	char peer[32];

	(void)state;
	session_cache_put(cache, "kept", session(0));
	session_cache_put(cache, "dropped", session(1));
	for (int i = 0; i < LIMIT_SESSIONS - 1; i++) {
		assert_non_null(session_cache_get(cache, "kept"));
		assert_true(snprintf(peer, sizeof(peer), "p%d", i) > 0);
		session_cache_put(cache, peer, session(2));
	}
	assert_int_equal(session_cache_count(cache), LIMIT_SESSIONS);
	assert_non_null(session_cache_get(cache, "kept"));
	assert_null(session_cache_get(cache, "dropped"));
	session_cache_free(cache);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(newest_session_of_a_peer_is_kept),
		cmocka_unit_test(session_that_cannot_be_resumed_is_dropped),
		cmocka_unit_test(cache_is_bounded_and_drops_the_longest_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
