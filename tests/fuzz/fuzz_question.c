/* Any bytes as a question in words, and as a host and a point in time. */
#include "policy/question.h"

#include "policy/idn.h"
#include "policy/instant.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static struct question question;

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor words = cursor_of(bytes, length);
	struct problem problem;
	struct hostname name, again;
	int64_t at;

	if (question_read(words, 0, &question, &problem) == STATUS_OK &&
	    question.facts.by_name != hostname_is_set(&question.facts.host))
		abort();
	if (instant_parse(words, &at) == STATUS_OK) {
		char text[INSTANT_TEXT_MAX];

		instant_print(at, text);
	}
	if (idn_to_hostname((const char *)bytes, length, &name) != STATUS_OK)
		return 0;
	/* A canonical name is its own canonical form. */
	if (hostname_parse(name.text, name.length, &again) != STATUS_OK ||
	    !hostname_equals(&name, &again))
		abort();
	return 0;
}
