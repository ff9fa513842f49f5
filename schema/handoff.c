#include "schema/handoff.h"

#include "schema/status.h"

#include <assert.h>

static const char *const mode_names[] = {
	[HANDOFF_TPROXY] = "tproxy",
	[HANDOFF_ANYIP] = "anyip",
};

static_assert(sizeof(mode_names) / sizeof(mode_names[0]) == HANDOFF_MODE_COUNT,
    "every mode has a name");

const char *
handoff_mode_name(enum handoff_mode mode)
{
	return mode_names[mode];
}

static void
write_address(const struct address *address, struct cursor_writer *out)
{
	cursor_put_u8(out, address->length);
	cursor_put(out, address->bytes, address->length);
}

static bool
read_address(struct cursor *body, uint8_t wanted, struct address *ret)
{
	struct address address = { 0 };

	if (!cursor_u8(body, &address.length) || address.length != wanted ||
	    !cursor_copy(body, wanted, address.bytes))
		return false;
	*ret = address;
	return true;
}

void
handoff_offer_write(
    const struct handoff_offer *offer, struct cursor_writer *out)
{
	cursor_put_u8(out, (uint8_t)offer->mode);
	write_address(&offer->own4, out);
	write_address(&offer->own6, out);
}

int
handoff_offer_read(struct cursor body, struct handoff_offer *ret)
{
	struct handoff_offer offer;
	uint8_t mode;

	if (!cursor_u8(&body, &mode) || mode >= HANDOFF_MODE_COUNT ||
	    !read_address(&body, 4, &offer.own4) ||
	    !read_address(&body, 16, &offer.own6) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	offer.mode = (enum handoff_mode)mode;
	*ret = offer;
	return STATUS_OK;
}
