/*
 * address_parse and cidr_parse: what is printed is read again as the same;
 * an address is in the prefix that is itself.
 */
#include "schema/address.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

static void
check_address(const char *text, size_t length)
{
	struct address address, again;
	struct sockaddr_storage socket_address;
	struct endpoint endpoint, other;
	char printed[ADDRESS_TEXT_MAX];

	if (address_parse(text, length, &address) != STATUS_OK)
		return;
	assert(address_kind(&address) < ADDRESS_KIND_COUNT);
	address_print(&address, printed);
	assert(address_parse(printed, strlen(printed), &again) == STATUS_OK);
	assert(address_equals(&address, &again));
	endpoint = (struct endpoint){ .address = address, .port = 53 };
	assert(endpoint_to_sockaddr(&endpoint, &socket_address) > 0);
	assert(endpoint_from_sockaddr((const struct sockaddr *)&socket_address,
		   &other) == STATUS_OK);
	assert(endpoint_equals(&endpoint, &other));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	struct cidr cidr;

	check_address(text, length);
	if (cidr_parse(text, length, &cidr) != STATUS_OK)
		return 0;
	assert(cidr.bits <= cidr.address.length * 8);
	assert(cidr_contains(&cidr, &cidr.address));
	return 0;
}
