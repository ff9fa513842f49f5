#include "schema/argv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* words are written with '|' for the NUL between them. */
static void
redacts_to(const char *words, const char *wanted)
{
	unsigned char text[512], room[600];
	size_t length = strlen(words);
	struct cursor_writer out = cursor_writer_of(room, sizeof(room) - 1);

	assert_true(length < sizeof(text));
	for (size_t i = 0; i < length; i++)
		text[i] = words[i] == '|' ? '\0' : (unsigned char)words[i];
	argv_redact(cursor_of(text, length), &out);
	assert_true(cursor_written(&out));
	room[out.used] = '\0';
	assert_string_equal((const char *)room, wanted);
}

static void
plain_words_stay_as_they_are(void **state)
{
	(void)state;
	redacts_to("", "");
	redacts_to("npm|run|build|", "npm run build");
	redacts_to("git|clone|https://example.com/a.git|",
	    "git clone https://example.com/a.git");
	redacts_to("tar|-xf|a:b=c.tar|", "tar -xf a:b=c.tar");
	redacts_to("cc|-O2|-DNAME=value|a.c|", "cc -O2 -DNAME=value a.c");
}

static void
values_of_telling_options_are_hidden(void **state)
{
	(void)state;
	redacts_to("x|--token=abc|--to=me|", "x --token=*** --to=me");
	redacts_to("x|--api-key|abc|--to|me|", "x --api-key *** --to me");
	redacts_to("x|--password|a b|next|", "x --password *** b next");
	redacts_to("env|GITHUB_TOKEN=ghp_x|PATH=/bin|make|",
	    "env GITHUB_TOKEN=*** PATH=/bin make");
	redacts_to("x|--AUTH_TOKEN=|y|", "x --AUTH_TOKEN=*** y");
	redacts_to("x|--token|", "x --token");
}

static void
password_of_a_user_is_hidden_and_its_name_is_not(void **state)
{
	(void)state;
	redacts_to("curl|-u|me:secret|x|", "curl -u me:*** x");
	redacts_to("curl|--user|me|x|", "curl --user me x");
	redacts_to("curl|--proxy-user|a:b:c|x|", "curl --proxy-user a:*** x");
}

static void
user_part_of_an_address_is_hidden(void **state)
{
	(void)state;
	redacts_to("git|clone|https://me:pw@example.com/x|",
	    "git clone https://***@example.com/x");
	redacts_to(
	    "x|https://a@b@example.com/c@d|", "x https://***@example.com/c@d");
	redacts_to("x|https://example.com/c@d|", "x https://example.com/c@d");
	redacts_to("x|https://example.com/?key=1&api_key=2&b=3|",
	    "x https://example.com/?key=1&api_key=***&b=3");
}

static void
header_fields_are_hidden_to_their_end(void **state)
{
	(void)state;
	redacts_to("curl|-H|Authorization: Bearer abc def|http://x/|",
	    "curl -H Authorization:*** http://x/");
	redacts_to("curl|-HCookie: a=b; c=d|x|", "curl -HCookie:*** x");
	redacts_to("sh|-c|curl -H 'Authorization: Bearer abc' http://x/ | cat|",
	    "sh -c curl -H 'Authorization:***' http://x/   cat");
}

static void
script_in_one_word_is_looked_through(void **state)
{
	(void)state;
	redacts_to("sh|-c|curl -u me:pw x; API_KEY=abc y|",
	    "sh -c curl -u me:*** x; API_KEY=*** y");
	redacts_to("sh|-c|TOKEN='a b' y|", "sh -c TOKEN=*** b' y");
}

static void
long_line_is_cut_and_says_so(void **state)
{
	unsigned char words[100], room[16];
	struct cursor_writer out = cursor_writer_of(room, sizeof(room));

	(void)state;
	memset(words, 'x', sizeof(words));
	argv_redact(cursor_of(words, sizeof(words)), &out);
	assert_true(cursor_written(&out));
	assert_int_equal(out.used, 16);
	assert_memory_equal(room, "xxxxxxxxxxxxx...", 16);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_words_stay_as_they_are),
		cmocka_unit_test(values_of_telling_options_are_hidden),
		cmocka_unit_test(
		    password_of_a_user_is_hidden_and_its_name_is_not),
		cmocka_unit_test(user_part_of_an_address_is_hidden),
		cmocka_unit_test(header_fields_are_hidden_to_their_end),
		cmocka_unit_test(script_in_one_word_is_looked_through),
		cmocka_unit_test(long_line_is_cut_and_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
