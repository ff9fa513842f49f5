/* socks: what was taken stays the same when it comes in pieces. */
#include "gateway/proto/socks.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

static void
check_request(struct cursor all)
{
	struct authority authority;
	enum socks_reply reply;
	struct cursor rest = all;
	enum parse_result result =
	    socks_request_take(&rest, &authority, &reply);

	if (result != PARSE_OK) {
		assert(rest.left == all.left);
		return;
	}
	assert(rest.left < all.left);
	if (reply == SOCKS_SUCCEEDED)
		assert(authority_is_set(&authority) && authority.port != 0 &&
		       hostname_is_set(&authority.name) !=
			   address_is_set(&authority.literal));
	/* One byte less is not enough. */
	all.left -= rest.left + 1;
	assert(socks_request_take(&all, &authority, &reply) == PARSE_MORE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct cursor rest = cursor_of(bytes, length);
	bool anonymous;

	check_request(rest);
	if (socks_greeting_take(&rest, &anonymous) == PARSE_OK)
		check_request(rest);
	return 0;
}
