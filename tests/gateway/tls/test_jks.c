#include "gateway/tls/jks.h"
#include "gateway/tls/run_ca.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include <openssl/evp.h>

static struct run_ca *
authority(const char *name)
{
	struct problem problem;
	struct run_ca *ca =
	    run_ca_new(name, (int64_t)time(NULL) * 1000000, &problem);

	assert_non_null(ca);
	return ca;
}

/* What a reader of the format sees; the bytes are the caller's. */
static void
assert_store(struct cursor store, uint32_t wanted)
{
	uint32_t magic, version, count, kind, length;
	struct cursor name;
	uint64_t at;

	assert_true(cursor_u32(&store, &magic));
	assert_true(cursor_u32(&store, &version));
	assert_true(cursor_u32(&store, &count));
	assert_int_equal(magic, 0xfeedfeed);
	assert_int_equal(version, 2);
	assert_int_equal(count, wanted);
	for (uint32_t i = 0; i < count; i++) {
		assert_true(cursor_u32(&store, &kind));
		assert_int_equal(kind, 2);
		assert_true(cursor_block(&store, &name));
		assert_true(cursor_u64(&store, &at));
		assert_true(cursor_block(&store, &name));
		assert_true(cursor_equals(name, "X.509"));
		assert_true(cursor_u32(&store, &length));
		assert_int_equal(store.at[0], 0x30);
		assert_true(cursor_skip(&store, length));
	}
	assert_int_equal(store.left, 20);
}

static void
store_has_the_certificates_of_all_texts(void **state)
{
	static unsigned char bytes[8192];
	struct run_ca *one = authority("one"), *other = authority("other");
	struct cursor texts[] = { run_ca_pem(one),
		cursor_of_text("# a comment, and no certificate\n"),
		run_ca_pem(other) };
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(jks_write(texts, 3, &out), STATUS_OK);
	assert_store(cursor_of(bytes, out.used), 2);
	run_ca_free(one);
	run_ca_free(other);
}

static void
room_of_the_texts_and_a_little_more_is_enough(void **state)
{
	static unsigned char bytes[8192];
	struct run_ca *ca = authority("one");
	struct cursor text = run_ca_pem(ca);
	struct cursor_writer out =
	    cursor_writer_of(bytes, text.left + JKS_MORE);

	(void)state;
	assert_int_equal(jks_write(&text, 1, &out), STATUS_OK);
	out = cursor_writer_of(bytes, 100);
	assert_int_equal(jks_write(&text, 1, &out), STATUS_TOO_LONG);
	run_ca_free(ca);
}

static void
store_of_nothing_is_a_store(void **state)
{
	unsigned char bytes[JKS_MORE];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(jks_write(NULL, 0, &out), STATUS_OK);
	assert_store(cursor_of(bytes, out.used), 0);
}

static void
digest_ends_the_store(void **state)
{
	/* Of the password in UTF-16, the words, and an empty store. */
	static const unsigned char text[] = "\0c\0h\0a\0n\0g\0e\0i\0t"
					    "Mighty Aphrodite"
					    "\xfe\xed\xfe\xed\0\0\0\2\0\0\0";
	unsigned char bytes[JKS_MORE], sum[EVP_MAX_MD_SIZE];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(jks_write(NULL, 0, &out), STATUS_OK);
	assert_int_equal(
	    EVP_Digest(text, sizeof(text), sum, NULL, EVP_sha1(), NULL), 1);
	assert_memory_equal(bytes + out.used - 20, sum, 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_has_the_certificates_of_all_texts),
		cmocka_unit_test(room_of_the_texts_and_a_little_more_is_enough),
		cmocka_unit_test(store_of_nothing_is_a_store),
		cmocka_unit_test(digest_ends_the_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
