/*
 * alpn_choose: what is chosen is one of ours, out of what was offered; a list
 * that we wrote reads.
 */
#include "gateway/tls/alpn.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const char *const names[] = { "h2", "http/1.1", NULL };
	struct cursor offered = cursor_of(bytes, length), chosen;

	if (alpn_choose(names, offered, &chosen) != STATUS_OK)
		return 0;
	assert(
	    cursor_equals(chosen, "h2") || cursor_equals(chosen, "http/1.1"));
	assert(chosen.at > bytes && chosen.at + chosen.left <= bytes + length);
	return 0;
}
