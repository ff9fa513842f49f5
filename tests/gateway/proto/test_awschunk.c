#include "gateway/proto/awschunk.h"

#include "schema/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIGNED                             \
	";chunk-signature="                \
	"5fa00fa31553b73ebf1942676e86291e" \
	"8372ff2a2260956d9b8aae1d763fbf31\r\n"

static const char body[] = "5" SIGNED "hello\r\n"
			   "03" SIGNED "abc\r\n"
			   "0" SIGNED "x-amz-checksum-crc32:AAAA\r\n"
			   "\r\n";

/* What was understood, a word an element. */
static char told[512];

static void
tell(enum awschunk_what what, const struct awschunk_part *part)
{
	size_t used = strlen(told);
	int length = 0;

	switch (what) {
	case AWSCHUNK_LINE:
		length = snprintf(told + used, sizeof(told) - used, "[%.*s]",
		    (int)part->digits.left, (const char *)part->digits.at);
		break;
	case AWSCHUNK_DATA:
		length = snprintf(told + used, sizeof(told) - used, "%.*s",
		    (int)part->bytes.left, (const char *)part->bytes.at);
		break;
	case AWSCHUNK_DATA_END:
		length = snprintf(told + used, sizeof(told) - used, "|");
		break;
	case AWSCHUNK_TRAILER:
		length = snprintf(told + used, sizeof(told) - used, "%.*s=%.*s",
		    (int)part->name.left, (const char *)part->name.at,
		    (int)part->value.left, (const char *)part->value.at);
		break;
	case AWSCHUNK_END:
		length = snprintf(told + used, sizeof(told) - used, ".");
		break;
	case AWSCHUNK_MORE:
	case AWSCHUNK_BAD:
		break;
	}
	assert_true(length >= 0 && used + (size_t)length < sizeof(told));
}

/* Gives the bytes up to cut, then all that is left. */
static enum awschunk_what
read_all(const char *text, size_t length, size_t cut)
{
	struct awschunk chunk = { .left = 0 };
	struct awschunk_part part;
	struct cursor in = cursor_of(text, cut);
	enum awschunk_what what = AWSCHUNK_MORE;

	told[0] = '\0';
	for (;;) {
		what = awschunk_step(&chunk, &in, &part);
		if (what == AWSCHUNK_BAD)
			return what;
		if (what != AWSCHUNK_MORE) {
			tell(what, &part);
			continue;
		}
		if (cut == length)
			return chunk.state == AWSCHUNK_OVER ? AWSCHUNK_END
							    : AWSCHUNK_MORE;
		in.left += length - cut;
		cut = length;
	}
}

static void
a_signed_body_is_read_whatever_it_is_cut_into(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < sizeof(body); cut++) {
		assert_int_equal(
		    read_all(body, sizeof(body) - 1, cut), AWSCHUNK_END);
		assert_string_equal(
		    told, "[5]hello|[03]abc|[0]x-amz-checksum-crc32=AAAA.");
	}
}

static void
a_body_that_breaks_off_is_never_whole(void **state)
{
	(void)state;
	for (size_t length = 0; length < sizeof(body) - 1; length++)
		assert_int_equal(read_all(body, length, length), AWSCHUNK_MORE);
}

static void
what_is_not_signed_or_goes_on_behind_its_end_is_refused(void **state)
{
	static const char *const bad[] = { "5\r\nhello\r\n",
		"5;chunk-signature=abc\r\n", "g" SIGNED, "-5" SIGNED,
		"0x5" SIGNED, " 5" SIGNED, "100000000" SIGNED,
		"000000005" SIGNED, "5" SIGNED "hello!\r\n",
		"5" SIGNED "hello\n0" SIGNED, "0" SIGNED "\r\n0" SIGNED,
		"0" SIGNED "no trailer\r\n", "0" SIGNED "a b:c\r\n",
		"0" SIGNED "a:b\001\r\n", "0" SIGNED "\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_all(bad[i], strlen(bad[i]), strlen(bad[i])) !=
		    AWSCHUNK_BAD)
			fail_msg("accepted: %s", bad[i]);
}

static void
a_line_without_end_is_refused_at_its_limit(void **state)
{
	static char line[LIMIT_AWS_LINE + 1];
	struct awschunk chunk = { .left = 0 };
	struct awschunk_part part;
	struct cursor in;

	(void)state;
	memset(line, '0', sizeof(line));
	in = cursor_of(line, LIMIT_AWS_LINE);
	assert_int_equal(awschunk_step(&chunk, &in, &part), AWSCHUNK_MORE);
	in = cursor_of(line, sizeof(line));
	assert_int_equal(awschunk_step(&chunk, &in, &part), AWSCHUNK_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signed_body_is_read_whatever_it_is_cut_into),
		cmocka_unit_test(a_body_that_breaks_off_is_never_whole),
		cmocka_unit_test(
		    what_is_not_signed_or_goes_on_behind_its_end_is_refused),
		cmocka_unit_test(a_line_without_end_is_refused_at_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
