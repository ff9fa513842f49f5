#include "gateway/tls/run_ca.h"

#include "tests/gateway/tls/pair.h"

#include <openssl/asn1.h>
#include <openssl/x509v3.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NOON_US (1790000000LL * 1000000)

static struct run_ca *
made(const char *name)
{
	struct problem problem;
	struct run_ca *ca = run_ca_new(name, NOON_US, &problem);

	assert_non_null(ca);
	return ca;
}

static int
seconds_between(const ASN1_TIME *time, int64_t reference)
{
	ASN1_TIME *zero = ASN1_TIME_set(NULL, reference);
	int days, seconds;

	assert_non_null(zero);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds, zero, time), 1);
	ASN1_TIME_free(zero);
	return days * 86400 + seconds;
}

/* Case T26. */
static void
authority_may_sign_leaves_and_nothing_else(void **state)
{
	struct run_ca *ca = made("7f3a");
	X509 *certificate = run_ca_certificate(ca);

	(void)state;
	assert_true((X509_get_extension_flags(certificate) & EXFLAG_CA) != 0);
	assert_int_equal(X509_get_pathlen(certificate), 0);
	assert_int_equal(
	    X509_get_key_usage(certificate), KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	for (int i = 0; i < X509_get_ext_count(certificate); i++) {
		X509_EXTENSION *one = X509_get_ext(certificate, i);
		int nid = OBJ_obj2nid(X509_EXTENSION_get_object(one));

		if (nid == NID_basic_constraints || nid == NID_key_usage)
			assert_int_equal(X509_EXTENSION_get_critical(one), 1);
	}
	assert_non_null(X509_get0_subject_key_id(certificate));
	assert_int_equal(
	    ASN1_OCTET_STRING_cmp(X509_get0_subject_key_id(certificate),
		X509_get0_authority_key_id(certificate)),
	    0);
	run_ca_free(ca);
}

static void
authority_lasts_a_year_from_a_day_before(void **state)
{
	struct run_ca *ca = made("7f3a");
	X509 *certificate = run_ca_certificate(ca);

	(void)state;
	assert_int_equal(seconds_between(X509_get0_notBefore(certificate),
			     NOON_US / 1000000),
	    -86400);
	assert_int_equal(
	    seconds_between(X509_get0_notAfter(certificate), NOON_US / 1000000),
	    366 * 86400 + 3600);
	assert_int_equal(run_ca_begins(ca), NOON_US / 1000000 - 86400);
	assert_int_equal(
	    run_ca_ends(ca), NOON_US / 1000000 + 366 * 86400 + 3600);
	run_ca_free(ca);
}

/* Case T26: nothing is shared between runs. */
static void
each_run_has_its_own_key_and_serial(void **state)
{
	struct run_ca *one = made("one"), *two = made("two");

	(void)state;
	assert_int_not_equal(EVP_PKEY_eq(run_ca_key(one), run_ca_key(two)), 1);
	assert_int_not_equal(
	    ASN1_INTEGER_cmp(X509_get0_serialNumber(run_ca_certificate(one)),
		X509_get0_serialNumber(run_ca_certificate(two))),
	    0);
	run_ca_free(one);
	run_ca_free(two);
}

static void
text_holds_the_certificate_and_no_key(void **state)
{
	struct run_ca *ca = made("7f3a");
	struct cursor pem = run_ca_pem(ca);

	(void)state;
	assert_non_null(
	    memmem(pem.at, pem.left, "-----BEGIN CERTIFICATE-----", 27));
	assert_null(memmem(pem.at, pem.left, "PRIVATE", 7));
	run_ca_free(ca);
}

static void
name_too_long_for_a_certificate_is_refused(void **state)
{
	char name[80] = { 0 };
	struct problem problem;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	assert_null(run_ca_new(name, NOON_US, &problem));
	assert_non_null(strstr(problem.text, "too long"));
}

/* The strictest reader at hand: openssl verify -x509_strict. */
static void
openssl_accepts_it_strictly(void **state)
{
	struct problem problem;
	struct run_ca *ca = run_ca_new("7f3a", pair_wall_us(), &problem);
	struct cursor pem = run_ca_pem(ca);
	int file = memfd_create("ca", 0), status, said[2];
	char path[32], answer[4096];
	char *const arguments[] = { (char[]){ "/usr/bin/openssl" },
		(char[]){ "verify" }, (char[]){ "-x509_strict" },
		(char[]){ "-CAfile" }, path, path, NULL };
	pid_t child;
	ssize_t length;

	(void)state;
	assert_int_equal(write(file, pem.at, pem.left), pem.left);
	assert_true(snprintf(path, sizeof(path), "/dev/fd/%d", file) > 0);
	assert_int_equal(pipe(said), 0);
	child = pair_spawn(arguments, file, said[1]);
	if (child < 0) {
		print_message("openssl is not installed\n");
		skip();
	}
	(void)close(said[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	length = read(said[0], answer, sizeof(answer) - 1);
	assert_true(length > 0);
	answer[length] = '\0';
	assert_non_null(strstr(answer, ": OK"));
	assert_int_equal(status, 0);
	(void)close(said[0]);
	(void)close(file);
	run_ca_free(ca);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(authority_may_sign_leaves_and_nothing_else),
		cmocka_unit_test(authority_lasts_a_year_from_a_day_before),
		cmocka_unit_test(each_run_has_its_own_key_and_serial),
		cmocka_unit_test(text_holds_the_certificate_and_no_key),
		cmocka_unit_test(name_too_long_for_a_certificate_is_refused),
		cmocka_unit_test(openssl_accepts_it_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
