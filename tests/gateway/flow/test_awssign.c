/*
 * awssign, and through it gateway/proto/awsform: the whole signing suite in
 * tests/gateway/proto/sigv4, and the chunks and trailers of the S3 manual.
 */
#include "gateway/flow/awssign.h"

#include "gateway/proto/awsform.h"
#include "gateway/proto/header.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_MAX 8192

/* One case: its files, and the request in them taken apart. */
struct vector {
	char context[FILE_MAX], request[FILE_MAX], canonical[FILE_MAX];
	char signature[FILE_MAX];
	char unfolded[FILE_MAX];
	char payload[AWSSIGN_HEX];
	struct header header;
	struct awsform form;
};

static void
load(int suite, const char *name, const char *file, char out[FILE_MAX])
{
	char path[300];
	ssize_t got;
	int fd;

	assert_in_range(
	    snprintf(path, sizeof(path), "%s/%s", name, file), 1, 299);
	fd = openat(suite, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("no file %s", path);
	got = read(fd, out, FILE_MAX - 1);
	assert_int_equal(close(fd), 0);
	assert_in_range(got, 0, FILE_MAX - 1);
	out[got] = '\0';
	while (
	    got > 0 && strcmp(file, "request.txt") != 0 && out[got - 1] == '\n')
		out[--got] = '\0';
}

static void
digest_of(const void *bytes, size_t length, char ret[AWSSIGN_HEX])
{
	struct awssign_digest *digest = awssign_digest_new();

	assert_non_null(digest);
	assert_true(awssign_digest_put(digest, cursor_of(bytes, length)));
	assert_true(awssign_digest_take(digest, ret));
	awssign_digest_free(digest);
}

/* A folded line becomes blanks: what a strict parser would have refused. */
static void
unfold(const char *in, char *out)
{
	for (; *in != '\0'; in++) {
		if (in[0] == '\n' && in[1] == ' ')
			*out++ = ' ';
		else
			*out++ = *in;
	}
	*out = '\0';
}

static void
add_field(struct vector *vector, struct cursor name, struct cursor value)
{
	if (header_is(name, "host"))
		vector->form.host = value;
	else if (header_is(name, "content-length"))
		vector->form.length = value;
	else
		assert_int_equal(
		    header_add(&vector->header, name, value), STATUS_OK);
}

/* Request line, fields, body; a space inside the path is in two cases. */
static void
read_request(struct vector *vector)
{
	struct cursor text, line, target, word;

	unfold(vector->request, vector->unfolded);
	text = cursor_of_text(vector->unfolded);
	assert_true(cursor_until(&text, '\n', &line));
	assert_true(cursor_until(&line, ' ', &vector->form.method));
	assert_true(line.left > strlen(" HTTP/1.1"));
	target = cursor_of(line.at, line.left - strlen(" HTTP/1.1"));
	if (!cursor_until(&target, '?', &vector->form.path)) {
		vector->form.path = target;
		target.left = 0;
	}
	vector->form.query = target;
	while (cursor_until(&text, '\n', &line) && line.left > 0) {
		assert_true(cursor_until(&line, ':', &word));
		add_field(vector, word, line);
	}
	digest_of(text.at, text.left, vector->payload);
	vector->form.payload = cursor_of(vector->payload, AWSSIGN_HEX);
}

static bool
says(const struct vector *vector, const char *text)
{
	return strstr(vector->context, text) != NULL;
}

/* What a client adds before it signs. */
static void
add_own_fields(struct vector *vector)
{
	char *token = strstr(vector->context, "\"token\": \"");

	add_field(vector, cursor_of_text("X-Amz-Date"),
	    cursor_of_text("20150830T123600Z"));
	if (token != NULL && !says(vector, "\"omit_session_token\": true")) {
		struct cursor rest = cursor_of_text(token + 10), value;

		assert_true(cursor_until(&rest, '"', &value));
		add_field(
		    vector, cursor_of_text("X-Amz-Security-Token"), value);
	}
	if (says(vector, "\"sign_body\": true"))
		add_field(vector, cursor_of_text("X-Amz-Content-Sha256"),
		    vector->form.payload);
}

/* The line before the last of the canonical request: a;b;c. */
static struct cursor
wanted_names(const struct vector *vector)
{
	const char *end = strrchr(vector->canonical, '\n'), *begin = end;

	assert_non_null(end);
	while (begin > vector->canonical && begin[-1] != '\n')
		begin--;
	return cursor_of(begin, (size_t)(end - begin));
}

/* The key for a day, as the broker derives it. */
static void
derive(const char *secret, const char *const parts[3], unsigned char *key)
{
	char first[128];
	unsigned length =
	    (unsigned)snprintf(first, sizeof(first), "AWS4%s", secret);

	assert_in_range(length, 5, sizeof(first) - 1);
	assert_non_null(HMAC(EVP_sha256(), first, (int)length,
	    (const unsigned char *)parts[0], strlen(parts[0]), key, NULL));
	for (int i = 1; i < 4; i++) {
		const char *part = i < 3 ? parts[i] : "aws4_request";

		assert_non_null(HMAC(EVP_sha256(), key, 32,
		    (const unsigned char *)part, strlen(part), key, NULL));
	}
}

static void
check_vector(int suite, const char *name, struct vector *vector)
{
	static const char *const scope[] = { "20150830", "us-east-1",
		"service" };
	static unsigned char written[FILE_MAX * 4];
	struct cursor_writer out = cursor_writer_of(written, sizeof(written));
	unsigned char key[AWSSIGN_KEY] = { 0 };
	char signature[AWSSIGN_HEX];
	struct awssign sign = { .key = cursor_of(key, sizeof(key)),
		.time = cursor_of_text("20150830T123600Z"),
		.scope =
		    cursor_of_text("20150830/us-east-1/service/aws4_request") };

	load(suite, name, "context.json", vector->context);
	load(suite, name, "request.txt", vector->request);
	load(suite, name, "header-canonical-request.txt", vector->canonical);
	load(suite, name, "header-signature.txt", vector->signature);
	vector->form.header = &vector->header;
	read_request(vector);
	add_own_fields(vector);
	vector->form.rule =
	    says(vector, "\"normalize\": true") ? AWSFORM_TWICE : AWSFORM_ONCE;
	vector->form.names = wanted_names(vector);
	assert_int_equal(awsform_write(&vector->form, &out), STATUS_OK);
	if (!cursor_equals(cursor_of(written, out.used), vector->canonical))
		fail_msg("%s: %.*s", name, (int)out.used, (char *)written);
	derive("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", scope, key);
	assert_true(
	    awssign_request(&sign, cursor_of(written, out.used), signature));
	if (!awssign_equals(signature, cursor_of_text(vector->signature)))
		fail_msg("%s: the signature differs", name);
}

static void
every_case_of_the_signing_suite_gives_its_signature(void **state)
{
	DIR *suite = opendir(TESTS_DIR "/gateway/proto/sigv4");
	const struct dirent *entry;
	unsigned count = 0;

	(void)state;
	assert_non_null(suite);
	while ((entry = readdir(suite)) != NULL) {
		struct vector *vector;

		if (entry->d_name[0] == '.' ||
		    strcmp(entry->d_name, "README") == 0)
			continue;
		vector = calloc(1, sizeof(*vector));
		assert_non_null(vector);
		check_vector(dirfd(suite), entry->d_name, vector);
		free(vector);
		count++;
	}
	assert_int_equal(closedir(suite), 0);
	assert_int_equal(count, 38);
}

/* ---- chunks and trailers ---- */

static const char *const s3_scope[] = { "20130524", "us-east-1", "s3" };
static const char seed[] =
    "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9";

static void
the_chunks_of_the_s3_manual_get_its_signatures(void **state)
{
	static const struct {
		size_t length;
		const char *signature;
	} chunks[] = {
		{ 65536, "ad80c730a21e5b8d04586a2213dd63b9"
			 "a0e99e0e2307b0ade35a65485a288648" },
		{ 1024, "0055627c9e194cb4542bae2aa5492e3c"
			"1575bbb81b612b7d234b86a503ef5497" },
		{ 0, "b6c6ea8a5354eaf15b3cb7646744f427"
		     "5b71ea724fed81ceb9323e279d449df9" },
	};
	static unsigned char data[65536];
	unsigned char key[AWSSIGN_KEY] = { 0 };
	char previous[AWSSIGN_HEX], digest[AWSSIGN_HEX];
	struct awssign sign = { .key = cursor_of(key, sizeof(key)),
		.time = cursor_of_text("20130524T000000Z"),
		.scope = cursor_of_text("20130524/us-east-1/s3/aws4_request") };

	(void)state;
	memset(data, 'a', sizeof(data));
	memcpy(previous, seed, sizeof(previous));
	derive("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", s3_scope, key);
	for (size_t i = 0; i < 3; i++) {
		digest_of(data, chunks[i].length, digest);
		assert_true(
		    awssign_chunk(&sign, cursor_of(previous, sizeof(previous)),
			cursor_of(digest, sizeof(digest)), previous));
		assert_true(awssign_equals(
		    previous, cursor_of_text(chunks[i].signature)));
	}
}

static void
trailers_get_the_signature_that_is_known(void **state)
{
	static const char last[] = "b6c6ea8a5354eaf15b3cb7646744f427"
				   "5b71ea724fed81ceb9323e279d449df9";
	static const char lines[] = "first:1st\nsecond:2nd\nthird:3rd\n";
	unsigned char key[AWSSIGN_KEY] = { 0 };
	char signature[AWSSIGN_HEX], digest[AWSSIGN_HEX];
	struct awssign sign = { .key = cursor_of(key, sizeof(key)),
		.time = cursor_of_text("20130524T000000Z"),
		.scope = cursor_of_text("20130524/us-east-1/s3/aws4_request") };

	(void)state;
	derive("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", s3_scope, key);
	digest_of(lines, strlen(lines), digest);
	assert_true(awssign_trailer(&sign, cursor_of_text(last),
	    cursor_of(digest, sizeof(digest)), signature));
	assert_true(awssign_equals(
	    signature, cursor_of_text("df5735bd9f3295cd9386572292562fef"
				      "c93ba94e80a0a1ddcbd652c4e0a75e6c")));
}

static void
a_key_of_another_length_signs_nothing(void **state)
{
	struct awssign sign = { .key = cursor_of_text("short") };
	char signature[AWSSIGN_HEX];

	(void)state;
	assert_false(awssign_request(&sign, cursor_of_text("GET"), signature));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    every_case_of_the_signing_suite_gives_its_signature),
		cmocka_unit_test(
		    the_chunks_of_the_s3_manual_get_its_signatures),
		cmocka_unit_test(trailers_get_the_signature_that_is_known),
		cmocka_unit_test(a_key_of_another_length_signs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
