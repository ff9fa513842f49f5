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

/* The next name of a list; false at its end, or when it is malformed. */
static bool
alpn_next(struct cursor *list, struct cursor *ret)
{
	uint8_t length;

	return cursor_u8(list, &length) && length > 0 &&
	       cursor_take(list, length, ret);
}

int
alpn_choose(const char *const *names, struct cursor offered, struct cursor *ret)
{
	for (; *names != NULL; names++) {
		struct cursor list = offered, name;

		while (alpn_next(&list, &name)) {
			if (cursor_equals(name, *names)) {
				*ret = name;
				return STATUS_OK;
			}
		}
		if (!cursor_is_empty(&list))
			return STATUS_MALFORMED;
	}
	return STATUS_NOT_FOUND;
}
