#include "policy/netmatch.h"

#include "schema/cursor.h"
#include "schema/status.h"

#include <string.h>

static bool
read_port(struct cursor *in, uint16_t *ret)
{
	uint64_t port;

	if (!cursor_decimal(in, UINT16_MAX, &port) || port == 0)
		return false;
	*ret = (uint16_t)port;
	return true;
}

int
port_range_parse(const char *text, size_t length, struct port_range *ret)
{
	struct cursor in = cursor_of(text, length);
	struct port_range range;

	if (!read_port(&in, &range.first))
		return STATUS_MALFORMED;
	range.last = range.first;
	if (cursor_literal(&in, "-") && !read_port(&in, &range.last))
		return STATUS_MALFORMED;
	if (!cursor_is_empty(&in) || range.last < range.first)
		return STATUS_MALFORMED;
	*ret = range;
	return STATUS_OK;
}

bool
port_ranges_hold(const struct port_range *ranges, size_t count, uint16_t port)
{
	for (size_t i = 0; i < count; i++)
		if (ranges[i].first <= port && port <= ranges[i].last)
			return true;
	return false;
}

static bool
one_covers(const struct port_range *wide, size_t count,
    const struct port_range *narrow)
{
	for (size_t i = 0; i < count; i++)
		if (wide[i].first <= narrow->first &&
		    narrow->last <= wide[i].last)
			return true;
	return false;
}

bool
port_ranges_cover(const struct port_range *wide, size_t wide_count,
    const struct port_range *narrow, size_t narrow_count)
{
	static const struct port_range every = { 1, UINT16_MAX };

	if (wide_count == 0)
		return true;
	if (narrow_count == 0)
		return one_covers(wide, wide_count, &every);
	for (size_t i = 0; i < narrow_count; i++)
		if (!one_covers(wide, wide_count, &narrow[i]))
			return false;
	return true;
}

bool
port_ranges_meet(const struct port_range *a, size_t a_count,
    const struct port_range *b, size_t b_count)
{
	if (a_count == 0 || b_count == 0)
		return true;
	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			if (a[i].first <= b[k].last && b[k].first <= a[i].last)
				return true;
	return false;
}

bool
cidr_covers(const struct cidr *wide, const struct cidr *narrow)
{
	return wide->bits <= narrow->bits &&
	       cidr_contains(wide, &narrow->address);
}

bool
cidr_is_wide(const struct cidr *cidr)
{
	/* A sixteenth of what a registry hands out at once, or more. */
	unsigned enough = cidr->address.length == 4 ? 8 : 16;
	struct address last = cidr_last(cidr);
	enum address_kind kind = address_kind(&cidr->address);

	if (cidr->bits >= enough)
		return false;
	/* fc00::/7 is large and yet all private. */
	return kind == ADDRESS_PUBLIC || kind != address_kind(&last);
}
