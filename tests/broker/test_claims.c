#include "broker/claims.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ISSUER "https://id.example"

#define HEAD                                                           \
	"{\"iss\":\"https://id.example\",\"sub\":\"agent:coder\","     \
	"\"aud\":\"http://exeat.internal\",\"client_id\":\"agent:a\"," \
	"\"scope\":\"egress:default cred:git\","
#define TIMES "\"iat\":1764500000,\"nbf\":1764499990,\"exp\":1764500900,"
#define IDS                                             \
	"\"jti\":\"AAAAAAAAAAAAAAAAAAAAAQ\","           \
	"\"pjti\":\"AAAAAAAAAAAAAAAAAAAAAg\",\"rjti\":" \
	"\"AAAAAAAAAAAAAAAAAAAAAw\","
#define TAIL "\"dep\":2,\"sbx\":\"run-1\""
#define ACT ",\"act\":{\"sub\":\"agent:b\",\"act\":{\"sub\":\"agent:c\"}}"
#define WHOLE HEAD TIMES IDS TAIL ACT ",\"may_act\":{\"sub\":\"agent:t\"}}"

static int
try(const char *text, struct token *ret)
{
	return claims_read(cursor_of_text(text), ISSUER, ret);
}

static void
claims_are_read_as_they_were_written(void **state)
{
	char text[LIMIT_TOKEN];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct token token = { .depth = 9 };

	(void)state;
	assert_int_equal(try(WHOLE, &token), STATUS_OK);
	assert_string_equal(token.subject, "agent:coder");
	assert_string_equal(token.client, "agent:a");
	assert_string_equal(token.scope, "egress:default cred:git");
	assert_int_equal(token.actors, 2);
	assert_string_equal(token.actor[0], "agent:b");
	assert_string_equal(token.actor[1], "agent:c");
	assert_string_equal(token.may_act, "agent:t");
	assert_int_equal(token.depth, 2);
	assert_int_equal(token.expires_s, 1764500900);
	claims_write(&token, ISSUER, &out);
	assert_true(cursor_written(&out));
	assert_true(cursor_equals(cursor_of(text, out.used), WHOLE));
}

static void
another_issuer_is_refused(void **state)
{
	struct token token = { .depth = 9 };

	(void)state;
	assert_int_equal(
	    claims_read(cursor_of_text(WHOLE), "https://id.example/", &token),
	    STATUS_REFUSED);
	assert_int_equal(token.depth, 9);
}

static void
what_we_could_not_have_written_is_malformed(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"null",
		/* faults 7, 10 and 11 of libjwt 1.10: no claims, an array, a
		 * claim twice, times that are no whole numbers */
		"[" WHOLE "]",
		HEAD TIMES IDS TAIL ",\"sub\":\"agent:root\"}",
		HEAD "\"iat\":1764500000,\"nbf\":1764499990,"
		     "\"exp\":\"1764500900\"," IDS TAIL "}",
		HEAD "\"iat\":1764500000,\"nbf\":1764499990,"
		     "\"exp\":1764500900.5," IDS TAIL "}",
		HEAD
		"\"iat\":1764500000,\"nbf\":1764499990,\"exp\":-1," IDS TAIL
		"}",
		HEAD "\"iat\":1764500000,\"nbf\":1764499990,"
		     "\"exp\":253402300800," IDS TAIL "}",
		HEAD "\"iat\":1764500000,\"nbf\":1764499990," IDS TAIL "}",
		/* over before it begins */
		HEAD "\"iat\":1764500000,\"nbf\":5,\"exp\":5," IDS TAIL "}",
		/* a claim that we do not know */
		HEAD TIMES IDS TAIL ",\"admin\":true}",
		/* two audiences, an audience that is none */
		"{\"iss\":\"https://id.example\",\"sub\":\"s\",\"aud\":["
		"\"a\",\"b\"],\"client_id\":\"c\",\"scope\":\"x:y\"," TIMES IDS
		    TAIL "}",
		/* no scope */
		"{\"iss\":\"https://id.example\",\"sub\":\"s\",\"aud\":"
		"\"a\",\"client_id\":\"c\"," TIMES IDS TAIL "}",
		/* ids that are none */
		HEAD TIMES "\"jti\":\"AAAAAAAAAAAAAAAAAAAAAR\","
			   "\"pjti\":\"AAAAAAAAAAAAAAAAAAAAAg\","
			   "\"rjti\":\"AAAAAAAAAAAAAAAAAAAAAw\"," TAIL "}",
		HEAD TIMES "\"jti\":\"1\",\"pjti\":\"2\",\"rjti\":\"3\"," TAIL
			   "}",
		/* depths that cannot be */
		HEAD TIMES IDS "\"dep\":0,\"sbx\":\"run-1\"}",
		HEAD TIMES IDS "\"dep\":5,\"sbx\":\"run-1\"}",
		HEAD TIMES IDS "\"dep\":1,\"sbx\":\"run-1\"" ACT "}",
		/* actors that are none */
		HEAD TIMES IDS TAIL ",\"act\":\"agent:b\"}",
		HEAD TIMES IDS TAIL ",\"act\":{}}",
		HEAD TIMES IDS TAIL ",\"act\":null}",
		HEAD TIMES IDS TAIL ",\"act\":{\"sub\":\"b\",\"exp\":1}}",
		HEAD TIMES IDS TAIL ",\"may_act\":{\"sub\":[\"a\",\"b\"]}}",
		HEAD TIMES IDS TAIL ",\"may_act\":{\"sub\":\"a\",\"x\":1}}",
		/* something behind it */
		WHOLE "{}",
	};
	struct token token = { .depth = 9 };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(try(texts[i], &token), STATUS_MALFORMED);
	assert_int_equal(token.depth, 9);
}

static int
try_nested(int actors, struct token *ret)
{
	char text[4096];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, HEAD TIMES IDS "\"dep\":4,\"sbx\":\"run-1\"");
	for (int i = 0; i < actors; i++)
		cursor_put_text(&out, ",\"act\":{\"sub\":\"agent:x\"");
	for (int i = 0; i <= actors; i++)
		cursor_put_text(&out, "}");
	return claims_read(cursor_of(text, out.used), ISSUER, ret);
}

static void
actors_nest_only_so_deep(void **state)
{
	struct token token = { .id = "" };

	(void)state;
	assert_int_equal(try_nested(LIMIT_TOKEN_DEPTH, &token), STATUS_OK);
	assert_int_equal(token.actors, LIMIT_TOKEN_DEPTH);
	assert_int_equal(
	    try_nested(LIMIT_TOKEN_DEPTH + 1, &token), STATUS_MALFORMED);
	assert_int_equal(try_nested(100, &token), STATUS_MALFORMED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_read_as_they_were_written),
		cmocka_unit_test(another_issuer_is_refused),
		cmocka_unit_test(what_we_could_not_have_written_is_malformed),
		cmocka_unit_test(actors_nest_only_so_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
