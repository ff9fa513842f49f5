#include "gateway/tls/pem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"
#define ROOTS "/etc/ssl/certs/ca-certificates.crt"

/* Its certificates' bytes, one behind the other, and how many there are. */
static size_t
read_all(const char *text, char *out, size_t size)
{
	struct cursor in = cursor_of_text(text);
	struct cursor_writer der = cursor_writer_of(out, size - 1);
	size_t count = 0;

	while (pem_next(&in, &der))
		count++;
	assert_true(cursor_written(&der));
	out[der.used] = '\0';
	return count;
}

static void
assert_reads(const char *text, size_t count, const char *bytes)
{
	char out[256];

	assert_int_equal(read_all(text, out, sizeof(out)), count);
	assert_string_equal(out, bytes);
}

static void
certificates_are_found_among_other_words(void **state)
{
	(void)state;
	assert_reads(BEGIN "b25l\n" END, 1, "one");
	assert_reads("# one\r\n" BEGIN "b25\r\n l\r\n" END "and\n" BEGIN
		     "dHdv\n" END,
	    2, "onetwo");
	assert_reads("-----BEGIN PRIVATE KEY-----\nb25l\n"
		     "-----END PRIVATE KEY-----\n",
	    0, "");
	assert_reads("", 0, "");
}

static void
padding_ends_a_certificate(void **state)
{
	(void)state;
	assert_reads(BEGIN "b24=\n" END, 1, "on");
	assert_reads(BEGIN "bw==\n" END, 1, "o");
	assert_reads(BEGIN "bw==bw==\n" END, 0, "");
	assert_reads(BEGIN "b===\n" END, 0, "");
	assert_reads(BEGIN "====\n" END, 0, "");
	assert_reads(BEGIN "b=2l\n" END, 0, "");
	assert_reads(BEGIN "b25lb\n" END, 0, "");
	assert_reads(BEGIN END, 0, "");
}

static void
what_is_no_certificate_does_not_hide_the_next_one(void **state)
{
	(void)state;
	assert_reads(BEGIN "b25!\n" END BEGIN "dHdv\n" END, 1, "two");
	assert_reads(BEGIN "b25l\n" BEGIN "dHdv\n" END, 1, "two");
	assert_reads(BEGIN "b25l\n", 0, "");
	assert_reads(BEGIN "b25l\n" END BEGIN "dHdv", 1, "one");
}

static void
room_that_is_too_small_is_told(void **state)
{
	unsigned char bytes[2];
	struct cursor text = cursor_of_text(BEGIN "b25l\n" END);
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));

	(void)state;
	assert_true(pem_next(&text, &out));
	assert_false(cursor_written(&out));
}

/* Of the same text that a machine's programs read. */
static void
openssl_reads_the_same(void **state)
{
	static char text[1 << 20];
	static unsigned char bytes[1 << 20];
	FILE *file = fopen(ROOTS, "re");
	struct cursor in;
	BIO *bio;
	char *name, *header;
	unsigned char *der;
	long length;
	int count = 0;

	(void)state;
	if (file == NULL) {
		print_message("there is no %s\n", ROOTS);
		skip();
	}
	in = cursor_of(text, fread(text, 1, sizeof(text), file));
	(void)fclose(file);
	bio = BIO_new_mem_buf(in.at, (int)in.left);
	while (PEM_read_bio(bio, &name, &header, &der, &length) == 1) {
		struct cursor_writer out =
		    cursor_writer_of(bytes, sizeof(bytes));

		assert_true(pem_next(&in, &out));
		assert_int_equal(out.used, length);
		assert_memory_equal(bytes, der, out.used);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_free(der);
		count++;
	}
	assert_true(count > 0);
	(void)BIO_free(bio);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(certificates_are_found_among_other_words),
		cmocka_unit_test(padding_ends_a_certificate),
		cmocka_unit_test(
		    what_is_no_certificate_does_not_hide_the_next_one),
		cmocka_unit_test(room_that_is_too_small_is_told),
		cmocka_unit_test(openssl_reads_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
