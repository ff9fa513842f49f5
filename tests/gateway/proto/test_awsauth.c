#include "gateway/proto/awsauth.h"

#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIGNATURE                          \
	"5fa00fa31553b73ebf1942676e86291e" \
	"8372ff2a2260956d9b8aae1d763fbf31"
#define CREDENTIAL "Credential=AKIDEXAMPLE/20150830/us-east-1/s3/aws4_request"

static void
an_authorization_is_read_in_parts(void **state)
{
	struct awsauth auth;

	(void)state;
	assert_int_equal(
	    awsauth_parse(cursor_of_text("AWS4-HMAC-SHA256 " CREDENTIAL
					 ", SignedHeaders=host;x-amz-date"
					 ",Signature=" SIGNATURE),
		&auth),
	    STATUS_OK);
	assert_true(cursor_equals(auth.key_id, "AKIDEXAMPLE"));
	assert_true(
	    cursor_equals(auth.scope, "20150830/us-east-1/s3/aws4_request"));
	assert_true(cursor_equals(auth.date, "20150830"));
	assert_true(cursor_equals(auth.region, "us-east-1"));
	assert_true(cursor_equals(auth.service, "s3"));
	assert_true(cursor_equals(auth.names, "host;x-amz-date"));
	assert_true(cursor_equals(auth.signature, SIGNATURE));
}

static void
what_is_not_of_aws_or_not_this_algorithm_is_told_apart(void **state)
{
	struct awsauth auth;

	(void)state;
	assert_int_equal(awsauth_parse(cursor_of_text("Bearer abc"), &auth),
	    STATUS_NOT_FOUND);
	assert_int_equal(
	    awsauth_parse(
		cursor_of_text("AWS4-ECDSA-P256-SHA256 Credential=a"), &auth),
	    STATUS_REFUSED);
}

static void
what_could_be_read_in_two_ways_is_refused(void **state)
{
#define NAMES ", SignedHeaders=host"
#define SIGNED ", Signature=" SIGNATURE
	static const char *const bad[] = { "", /* nothing at all */
		CREDENTIAL NAMES, CREDENTIAL SIGNED,
		"SignedHeaders=host" SIGNED, CREDENTIAL NAMES NAMES SIGNED,
		CREDENTIAL NAMES SIGNED SIGNED,
		CREDENTIAL ", " CREDENTIAL NAMES SIGNED,
		CREDENTIAL ", SignedHeaders=host;a" SIGNED,
		CREDENTIAL ", SignedHeaders=host;host" SIGNED,
		CREDENTIAL ", SignedHeaders=Host" SIGNED,
		CREDENTIAL ", SignedHeaders=;host" SIGNED,
		CREDENTIAL ", SignedHeaders=host;" SIGNED,
		CREDENTIAL NAMES ", Signature=ABC", CREDENTIAL NAMES SIGNED "0",
		CREDENTIAL NAMES SIGNED ", More=1",
		"Credential=/20150830/us-east-1/s3/aws4_request" NAMES SIGNED,
		"Credential=A/2015083/us-east-1/s3/aws4_request" NAMES SIGNED,
		"Credential=A/20150830//s3/aws4_request" NAMES SIGNED,
		"Credential=A/20150830/us-east-1/s3/aws5_request" NAMES SIGNED,
		"Credential=A/20150830/us east/s3/aws4_request" NAMES SIGNED,
		"Credential=A/20150830/us-east-1/S3/aws4_request" NAMES SIGNED,
		"Credential=A/20150830/us-east-1/aws4_request" NAMES SIGNED };
	char text[512];
	struct awsauth auth = { .key_id = { .left = 7 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_in_range(
		    snprintf(text, sizeof(text), "AWS4-HMAC-SHA256 %s", bad[i]),
		    1, sizeof(text) - 1);
		if (awsauth_parse(cursor_of_text(text), &auth) !=
		    STATUS_MALFORMED)
			fail_msg("accepted: %s", text);
	}
	assert_int_equal(auth.key_id.left, 7);
}

static void
a_time_is_sixteen_letters_of_one_shape(void **state)
{
	(void)state;
	assert_true(awsauth_is_time(cursor_of_text("20150830T123600Z")));
	assert_false(awsauth_is_time(cursor_of_text("20150830T123600")));
	assert_false(awsauth_is_time(cursor_of_text("20150830 123600Z")));
	assert_false(awsauth_is_time(cursor_of_text("20150830T12360aZ")));
	assert_false(awsauth_is_time(cursor_of_text("20150830T123600ZZ")));
}

static void
a_presigned_query_is_seen_however_it_is_spelt(void **state)
{
	static const char *const signed_ones[] = { "X-Amz-Signature=1",
		"a=1&x-amz-signature=2", "X-Amz-Credential",
		"%58-Amz-Algorith%6D=AWS4-HMAC-SHA256", "Signature=x",
		"AWSAccessKeyId=a" };
	static const char *const others[] = { "", "a=X-Amz-Signature",
		"X-Amz-Signatures=1", "x-id=PutObject", "%5=1&%zz=2" };

	(void)state;
	for (size_t i = 0; i < sizeof(signed_ones) / sizeof(signed_ones[0]);
	     i++)
		assert_true(
		    awsauth_query_is_signed(cursor_of_text(signed_ones[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(
		    awsauth_query_is_signed(cursor_of_text(others[i])));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_authorization_is_read_in_parts),
		cmocka_unit_test(
		    what_is_not_of_aws_or_not_this_algorithm_is_told_apart),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(a_time_is_sixteen_letters_of_one_shape),
		cmocka_unit_test(a_presigned_query_is_seen_however_it_is_spelt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
