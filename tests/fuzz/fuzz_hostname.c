/* hostname_parse: what is read is canonical, and reads as itself. */
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *text = (const char *)bytes;
	struct hostname name, again;
	struct address address;

	if (hostname_parse(text, length, &name) != STATUS_OK)
		return 0;
	assert(name.length > 0 && name.text[name.length] == '\0');
	assert(strlen(name.text) == name.length);
	for (size_t i = 0; i < name.length; i++)
		assert(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.",
			   name.text[i]) != NULL);
	assert(!hostname_ends_in_number(name.text, name.length));
	/* Nothing is both a name and an address. */
	assert(address_parse(text, length, &address) != STATUS_OK);
	assert(hostname_parse(name.text, name.length, &again) == STATUS_OK);
	assert(hostname_equals(&name, &again));
	assert(!hostname_is_below(&name, &again));
	return 0;
}
