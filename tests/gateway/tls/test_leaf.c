#include "gateway/tls/leaf.h"

#include "schema/limits.h"
#include "tests/gateway/tls/pair.h"

#include <openssl/x509v3.h>

#define NOON_US (1790000000LL * 1000000)
#define HOUR_US (3600LL * 1000000)

struct fixture {
	struct run_ca *ca;
	EVP_PKEY *key;
	struct leaf *leaf;
	struct problem problem;
};

static void
fixture_init(struct fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->ca = run_ca_new("test", NOON_US, &fixture->problem);
	assert_non_null(fixture->ca);
	fixture->key = leaf_key_new(&fixture->problem);
	assert_non_null(fixture->key);
}

static void
fixture_done(struct fixture *fixture)
{
	leaf_free(fixture->leaf);
	EVP_PKEY_free(fixture->key);
	run_ca_free(fixture->ca);
}

static int
mint(struct fixture *fixture, const char *host, int64_t wall_us)
{
	leaf_free(STEAL(fixture->leaf));
	return leaf_mint(fixture->ca, fixture->key, host, wall_us,
	    &fixture->leaf, &fixture->problem);
}

/* A client of OpenSSL that trusts the run's authority, at a given time. */
static int
verdict_at(struct fixture *fixture, int64_t wall_us, const char *host)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();
	X509_VERIFY_PARAM *rules;
	int verdict;

	assert_int_equal(
	    X509_STORE_add_cert(store, run_ca_certificate(fixture->ca)), 1);
	assert_int_equal(X509_STORE_CTX_init(context, store,
			     leaf_certificate(fixture->leaf), NULL),
	    1);
	rules = X509_STORE_CTX_get0_param(context);
	X509_VERIFY_PARAM_set_time(rules, wall_us / 1000000);
	assert_int_equal(
	    X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT), 1);
	assert_int_equal(
	    X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER), 1);
	if (X509_VERIFY_PARAM_set1_ip_asc(rules, host) != 1)
		assert_int_equal(
		    X509_VERIFY_PARAM_set1_host(rules, host, 0), 1);
	(void)X509_verify_cert(context);
	verdict = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	return verdict;
}

static void
leaf_holds_for_its_host_and_no_other(void **state)
{
	static const char *const hosts[] = { "api.test", "a_b.test",
		"192.0.2.7", "2001:db8::7", "localhost" };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		assert_int_equal(mint(&fixture, hosts[i], NOON_US), STATUS_OK);
		assert_int_equal(
		    verdict_at(&fixture, NOON_US, hosts[i]), X509_V_OK);
		assert_int_equal(verdict_at(&fixture, NOON_US, "other.test"),
		    X509_V_ERR_HOSTNAME_MISMATCH);
		assert_int_equal(verdict_at(&fixture, NOON_US, "192.0.2.8"),
		    X509_V_ERR_IP_ADDRESS_MISMATCH);
	}
	fixture_done(&fixture);
}

static void
longest_host_name_gets_a_leaf(void **state)
{
	char host[LIMIT_HOST + 1] = { 0 };
	struct fixture fixture;

	(void)state;
	memset(host, 'a', sizeof(host) - 1);
	for (size_t i = 60; i < sizeof(host) - 1; i += 61)
		host[i] = '.';
	fixture_init(&fixture);
	assert_int_equal(mint(&fixture, host, NOON_US), STATUS_OK);
	assert_int_equal(verdict_at(&fixture, NOON_US, host), X509_V_OK);
	fixture_done(&fixture);
}

static void
host_is_written_in_its_one_spelling(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(mint(&fixture, "API.Test.", NOON_US), STATUS_OK);
	assert_string_equal(leaf_host(fixture.leaf), "api.test");
	assert_int_equal(mint(&fixture, "2001:DB8:0::7", NOON_US), STATUS_OK);
	assert_string_equal(leaf_host(fixture.leaf), "2001:db8::7");
	fixture_done(&fixture);
}

static void
what_is_no_host_gets_no_leaf(void **state)
{
	static const char *const wrong[] = { "", "*.test", "a b.test",
		"a.test,DNS:b.test", "a.test\n", "0x7f.1", "[::1]",
		"a.test:443", "xn--..test" };
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(
		    mint(&fixture, wrong[i], NOON_US), STATUS_MALFORMED);
		assert_null(fixture.leaf);
	}
	fixture_done(&fixture);
}

/* A clock that is half an hour late is common; a day of life is the most. */
static void
leaf_lasts_a_day_at_most_and_starts_before_now(void **state)
{
	struct fixture fixture;
	int days, seconds;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(mint(&fixture, "api.test", NOON_US), STATUS_OK);
	assert_int_equal(
	    verdict_at(&fixture, NOON_US - HOUR_US / 2, "api.test"), X509_V_OK);
	assert_int_equal(
	    ASN1_TIME_diff(&days, &seconds,
		X509_get0_notBefore(leaf_certificate(fixture.leaf)),
		X509_get0_notAfter(leaf_certificate(fixture.leaf))),
	    1);
	assert_int_equal(days * 86400 + seconds, 86400);
	assert_int_equal(
	    verdict_at(&fixture, NOON_US + 24 * HOUR_US, "api.test"),
	    X509_V_ERR_CERT_HAS_EXPIRED);
	fixture_done(&fixture);
}

static void
leaf_never_outlives_its_authority(void **state)
{
	struct fixture fixture;
	int64_t end_us;

	(void)state;
	fixture_init(&fixture);
	end_us = run_ca_ends(fixture.ca) * 1000000;
	assert_int_equal(
	    mint(&fixture, "api.test", end_us - 4 * HOUR_US), STATUS_OK);
	assert_int_equal(leaf_ends(fixture.leaf), run_ca_ends(fixture.ca));
	assert_int_equal(mint(&fixture, "api.test", end_us), STATUS_REFUSED);
	assert_int_equal(
	    mint(&fixture, "api.test", NOON_US - 25 * HOUR_US), STATUS_REFUSED);
	fixture_done(&fixture);
}

static void
leaves_differ_by_serial_and_share_the_key(void **state)
{
	struct fixture fixture;
	X509 *first;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(mint(&fixture, "a.test", NOON_US), STATUS_OK);
	first = X509_dup(leaf_certificate(fixture.leaf));
	assert_int_equal(mint(&fixture, "a.test", NOON_US), STATUS_OK);
	assert_int_not_equal(
	    ASN1_INTEGER_cmp(X509_get0_serialNumber(first),
		X509_get0_serialNumber(leaf_certificate(fixture.leaf))),
	    0);
	assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(first), fixture.key), 1);
	X509_free(first);
	fixture_done(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_holds_for_its_host_and_no_other),
		cmocka_unit_test(longest_host_name_gets_a_leaf),
		cmocka_unit_test(host_is_written_in_its_one_spelling),
		cmocka_unit_test(what_is_no_host_gets_no_leaf),
		cmocka_unit_test(
		    leaf_lasts_a_day_at_most_and_starts_before_now),
		cmocka_unit_test(leaf_never_outlives_its_authority),
		cmocka_unit_test(leaves_differ_by_serial_and_share_the_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
