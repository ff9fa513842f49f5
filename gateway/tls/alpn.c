#include "gateway/tls/alpn.h"

#include "schema/status.h"

#include <string.h>

int
alpn_write(const char *const *names, struct cursor_writer *out)
{
	for (; *names != NULL; names++) {
		size_t length = strlen(*names);

		if (length == 0 || length > UINT8_MAX)
			return STATUS_TOO_LONG;
		cursor_put_u8(out, (uint8_t)length);
		cursor_put(out, *names, length);
	}
	return cursor_written(out) ? STATUS_OK : STATUS_TOO_LONG;
}

/* Takes a name off the list; false, with all left, when there is none. */
static bool
alpn_next(struct cursor *list, struct cursor *ret)
{
	struct cursor rest = *list;
	uint8_t length;

	if (!cursor_u8(&rest, &length) || length == 0 ||
	    !cursor_take(&rest, length, ret))
		return false;
	*list = rest;
	return true;
}

/*
 * Looks for one name.  The whole list is read even when it is found early: one
 * that is malformed further down is refused whatever stands in front.
 */
static int
alpn_find(const char *wanted, struct cursor list, struct cursor *ret)
{
	struct cursor name, found = { 0 };

	while (alpn_next(&list, &name)) {
		if (cursor_equals(name, wanted))
			found = name;
	}
	if (!cursor_is_empty(&list))
		return STATUS_MALFORMED;
	if (found.left == 0)
		return STATUS_NOT_FOUND;
	*ret = found;
	return STATUS_OK;
}

int
alpn_choose(const char *const *names, struct cursor offered, struct cursor *ret)
{
	for (; *names != NULL; names++) {
		int status = alpn_find(*names, offered, ret);

		if (status != STATUS_NOT_FOUND)
			return status;
	}
	return STATUS_NOT_FOUND;
}
