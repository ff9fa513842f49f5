#include "gateway/tls/leaf_cache.h"

#include "schema/limits.h"
#include "tests/gateway/tls/pair.h"

#define NOON_US (1790000000LL * 1000000)
#define HOUR_US (3600LL * 1000000)
/* Of the authority. */
#define END_US (NOON_US + (366 * 24 + 1) * HOUR_US)

struct fixture {
	struct run_ca *ca;
	struct leaf_cache *cache;
	struct problem problem;
};

static void
fixture_init(struct fixture *fixture)
{
	fixture->ca = run_ca_new("test", NOON_US, &fixture->problem);
	assert_non_null(fixture->ca);
	fixture->cache = leaf_cache_new(fixture->ca, &fixture->problem);
	assert_non_null(fixture->cache);
}

static void
fixture_done(struct fixture *fixture)
{
	leaf_cache_free(fixture->cache);
	run_ca_free(fixture->ca);
}

static const struct leaf *
got(struct fixture *fixture, const char *host, int64_t wall_us)
{
	const struct leaf *leaf = NULL;

	assert_int_equal(leaf_cache_get(fixture->cache, host, wall_us, &leaf,
			     &fixture->problem),
	    STATUS_OK);
	assert_string_equal(leaf_host(leaf), host);
	return leaf;
}

/* The serial tells two leaves apart. */
static long
serial(const struct leaf *leaf)
{
	const ASN1_INTEGER *number =
	    X509_get0_serialNumber(leaf_certificate(leaf));
	long value;

	assert_true(ASN1_STRING_length(number) == 16);
	memcpy(&value, ASN1_STRING_get0_data(number) + 8, sizeof(value));
	return value;
}

static void
leaf_is_minted_once(void **state)
{
	struct fixture fixture;
	long first;

	(void)state;
	fixture_init(&fixture);
	first = serial(got(&fixture, "a.test", NOON_US));
	(void)got(&fixture, "b.test", NOON_US);
	assert_int_equal(
	    serial(got(&fixture, "a.test", NOON_US + HOUR_US)), first);
	assert_int_equal(leaf_cache_count(fixture.cache), 2);
	fixture_done(&fixture);
}

static void
leaf_about_to_end_is_minted_anew(void **state)
{
	struct fixture fixture;
	long first;

	(void)state;
	fixture_init(&fixture);
	first = serial(got(&fixture, "a.test", NOON_US));
	assert_int_not_equal(
	    serial(got(&fixture, "a.test", NOON_US + 22 * HOUR_US + 1000000)),
	    first);
	assert_int_equal(leaf_cache_count(fixture.cache), 1);
	fixture_done(&fixture);
}

/* A run goes on for weeks, and each of its leaves for a day. */
static void
long_run_has_a_good_leaf_every_hour(void **state)
{
	struct fixture fixture;
	long last = 0;
	int minted = 0;

	(void)state;
	fixture_init(&fixture);
	for (int64_t hour = 0; hour < 30 * 24; hour++) {
		int64_t now = NOON_US + hour * HOUR_US;
		const struct leaf *leaf = got(&fixture, "a.test", now);

		assert_true(leaf_begins(leaf) <= now / 1000000);
		assert_true(leaf_ends(leaf) > now / 1000000);
		minted += serial(leaf) != last;
		last = serial(leaf);
	}
	assert_in_range(minted, 30, 34);
	assert_int_equal(leaf_cache_count(fixture.cache), 1);
	fixture_done(&fixture);
}

/* The sandbox sees the same clock, and would find a leaf of the future. */
static void
clock_that_goes_back_gets_another_leaf(void **state)
{
	struct fixture fixture;
	long first;

	(void)state;
	fixture_init(&fixture);
	first = serial(got(&fixture, "a.test", NOON_US));
	assert_int_equal(
	    serial(got(&fixture, "a.test", NOON_US - HOUR_US / 2)), first);
	assert_int_not_equal(
	    serial(got(&fixture, "a.test", NOON_US - 2 * HOUR_US)), first);
	fixture_done(&fixture);
}

/* A later one cannot be had: minting it for each connection helps nobody. */
static void
last_leaf_of_an_authority_is_kept_to_its_end(void **state)
{
	struct fixture fixture;
	const struct leaf *none = NULL;
	long first;

	(void)state;
	fixture_init(&fixture);
	first = serial(got(&fixture, "a.test", END_US - HOUR_US));
	assert_int_equal(
	    serial(got(&fixture, "a.test", END_US - 1000000)), first);
	assert_int_equal(leaf_cache_get(fixture.cache, "a.test", END_US, &none,
			     &fixture.problem),
	    STATUS_REFUSED);
	assert_null(none);
	fixture_done(&fixture);
}

static void
cache_is_bounded_and_drops_the_longest_unused(void **state)
{
	struct fixture fixture;
	long kept, dropped;
	char host[32];

	(void)state;
	fixture_init(&fixture);
	kept = serial(got(&fixture, "kept.test", NOON_US));
	dropped = serial(got(&fixture, "dropped.test", NOON_US));
	for (int i = 0; i < LIMIT_LEAVES - 1; i++) {
		assert_true(snprintf(host, sizeof(host), "h%d.test", i) > 0);
		(void)got(&fixture, host, NOON_US);
		if (i % 100 == 0)
			(void)got(&fixture, "kept.test", NOON_US);
	}
	assert_int_equal(leaf_cache_count(fixture.cache), LIMIT_LEAVES);
	assert_int_equal(serial(got(&fixture, "kept.test", NOON_US)), kept);
	assert_int_not_equal(
	    serial(got(&fixture, "dropped.test", NOON_US)), dropped);
	fixture_done(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_is_minted_once),
		cmocka_unit_test(leaf_about_to_end_is_minted_anew),
		cmocka_unit_test(long_run_has_a_good_leaf_every_hour),
		cmocka_unit_test(clock_that_goes_back_gets_another_leaf),
		cmocka_unit_test(last_leaf_of_an_authority_is_kept_to_its_end),
		cmocka_unit_test(cache_is_bounded_and_drops_the_longest_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
