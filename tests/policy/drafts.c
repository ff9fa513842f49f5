#include "tests/policy/drafts.h"

#include "policy/document.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t state_of_chance = 0x9e3779b97f4a7c15U;

/* xorshift64*: no secret is made of it. */
unsigned
drafts_chance(unsigned below)
{
	state_of_chance ^= state_of_chance >> 12;
	state_of_chance ^= state_of_chance << 25;
	state_of_chance ^= state_of_chance >> 27;
	return (unsigned)((state_of_chance * 0x2545f4914f6cdd1dU) >> 33) %
	       below;
}

uint64_t
drafts_state(void)
{
	return state_of_chance;
}

void
drafts_set_state(uint64_t state)
{
	state_of_chance = state;
}

unsigned
drafts_cases(int argc, char **argv)
{
	const char *full = secure_getenv("EXEAT_FULL");
	const char *usual = full != NULL && full[0] == '1' ? "1000000" : "4000";
	struct cursor text = cursor_of_text(argc > 1 ? argv[1] : usual);
	uint64_t cases;

	if (!cursor_decimal(&text, 1000000000, &cases) ||
	    !cursor_is_empty(&text))
		return 0;
	return (unsigned)cases;
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define ONES "0101010101010101010101010101010101010101010101010101010101010101"

#define PICK(list) (list)[drafts_chance(sizeof(list) / sizeof((list)[0]))]

static const char *const targets[] = { "\"host\": [\"a.test\"]",
	"\"host\": [\"*.test\"], \"wide\": true",
	"\"host\": [\"*.a.test\", \"b.test\"]", "\"host\": [\"x*.a.test\"]",
	"\"host\": [\"*\"], \"wide\": true", "\"address\": [\"10.0.0.0/8\"]",
	"\"address\": [\"10.1.0.0/16\"]",
	"\"address\": [\"0.0.0.0/0\"], \"wide\": true" };
static const char by_hash[] = ", \"exe\": [\"sha256:" ZEROS "\"]";
static const char by_either[] = ", \"exe\": [\"sha256:" ONES "\", \"/bin/b\"]";
static const char calls[] = ", \"access\": \"write\", \"mcp\": "
			    "{\"methods\": [\"tools/*\"], \"tools\": [\"*x\"]}";
static const char both_known[] = " exe=/bin/a sha256=" ZEROS;
static const char both_others[] = " exe=/opt/c sha256=" ONES;
static const char hash_known[] = " sha256=" ZEROS;
static const char *const conditions[] = { "", "", "", ", \"port\": [443]",
	", \"access\": \"write\"", ", \"access\": \"any\"",
	", \"methods\": [\"POST\"]", ", \"methods\": [\"GET\", \"PURGE\"]",
	", \"path\": [\"/a/**\", \"/**/git-upload-pack\"]",
	", \"path\": [\"/*/b\"]", ", \"query\": {\"q\": \"*2\"}",
	", \"query\": {\"r\": \"1\", \"q\": \"*\"}",
	", \"port\": [80, \"400-500\"]", ", \"path\": [\"/a/**\"]",
	", \"path\": [\"/a/b\", \"/*\"]", ", \"query\": {\"q\": \"1*\"}",
	", \"upgrade\": [\"websocket\"]",
	", \"access\": \"any\", \"tls\": \"passthrough\"",
	", \"port\": [443], \"protocol\": \"tcp\"",
	", \"protocol\": \"ssh\", \"port\": [22, 443]",
	", \"valid\": {\"until\": \"1970-01-01T00:00:01Z\"}",
	", \"exe\": [\"/bin/a\", \"/usr/**\"]", ", \"exe\": [\"/bin/*\"]",
	by_hash, by_either,
	", \"access\": \"write\", \"mcp\": {\"tools\": [\"r*\"]}", calls,
	", \"access\": \"any\", \"mcp\": {\"methods\": [\"*\"]}",
	", \"credential\": \"one\"", ", \"credential\": \"two\"",
	", \"limits\": {\"connections\": 3}", ", \"log\": [\"mcp\"]" };
/* Behind a question, of which most say nothing more. */
static const char *const ends[] = { "", "", "", "", " exe=/bin/a",
	" exe=/bin/b", " exe=/usr/x/y", both_known, both_others, " exe=/bin/ab",
	hash_known };
static const char *const messages[] = { "", "", "", " mcp=ping",
	" mcp=tools/list", " mcp=tools/call tool=rx", " mcp=tools/call tool=r",
	" mcp=tools/call tool=x", " mcp=tools/call" };
static const char *const urls[] = { "https://a.test/a/b", "https://a.test/",
	"https://b.test/a?q=12", "https://x.a.test/a/b?q=2",
	"http://xx.a.test/b", "wss://a.test/a", "https://10.1.2.3/a/b",
	"https://10.2.2.3/", "ssh://a.test:443", "ssh://x.a.test",
	"tcp://b.test:443", "udp://a.test:443", "https://c.test/a",
	"https://127.0.0.1/", "https://8.8.8.8/?q=1",
	"https://b.test/a/b?q=12&q=2", "https://a.test/a/?q=%&r=1",
	"https://xy.a.test/a/b/git-upload-pack?r=1&q=1",
	"https://a.test:444/b" };
static const char *const methods[] = { "GET ", "POST ", "HEAD ", "PUT ",
	"PURGE ", "" };
static const char *const stages[] = { "@name ", "@connect ", "@hello ",
	"@hello! ", "" };

const char *
drafts_early_stage(void)
{
	return stages[drafts_chance(4)];
}

void
draft_rule(struct draft *draft, bool deny)
{
	const char *target = PICK(targets), *condition = PICK(conditions);
	const char *other = drafts_chance(3) == 0 ? PICK(conditions) : "";
	const char *action = deny		     ? ", \"action\": \"deny\""
			     : drafts_chance(4) == 0 ? ", \"action\": \"ask\""
						     : "";
	char *rule = draft->rules[draft->count];

	assert_true(
	    snprintf(rule, sizeof(draft->rules[0]),
		"{\"id\": \"r%zu\", %s%s%s%s}", draft->count, target, condition,
		other, action) < (int)sizeof(draft->rules[0]));
	draft->count++;
}

struct policy *
draft_load(const struct draft *draft, bool backwards)
{
	char text[4000];
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));

	cursor_put_text(&out, "{\"version\": 1, \"rules\": [");
	for (size_t i = 0; i < draft->count; i++) {
		size_t at = backwards ? draft->count - 1 - i : i;

		cursor_put_text(&out, i > 0 ? "," : "");
		cursor_put_text(&out, draft->rules[at]);
	}
	cursor_put_text(&out, "]}");
	assert_true(cursor_written(&out));
	if (document_load(cursor_of(text, out.used), "random", &policy,
		&problems) != STATUS_OK)
		policy = NULL;
	problems_done(&problems);
	return policy;
}

struct policy *
draft_policy(struct draft *draft)
{
	struct policy *policy;

	do {
		size_t count = 1 + drafts_chance(DRAFT_RULES - 1);

		draft->count = 0;
		while (draft->count < count)
			draft_rule(draft, drafts_chance(3) == 0);
		policy = draft_load(draft, false);
	} while (policy == NULL);
	return policy;
}

void
draft_question(struct question *question, const char *stage)
{
	struct problem problem;
	const char *url = PICK(urls), *method = PICK(methods);
	const char *end = PICK(ends), *message = PICK(messages);
	char words[400];

	if (stage == NULL)
		stage = PICK(stages);
	int length = snprintf(words, sizeof(words), "%s%s%s%s%s", stage, method,
	    url, end, message);

	assert_true(length > 0 && length < (int)sizeof(words));
	assert_int_equal(
	    question_read(cursor_of(words, (size_t)length),
		drafts_chance(2) == 0 ? 0 : 2000000, question, &problem),
	    STATUS_OK);
}
