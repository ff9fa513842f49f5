#include "policy/idn.h"

#include "schema/status.h"

#include <idn2.h>
#include <string.h>

/* A name in U-labels: four bytes a character at most. */
enum {
	IDN_TEXT_MAX = 4 * LIMIT_HOST
};

static bool
is_plain(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return false;
		if (length - i >= 4 && strncasecmp(text + i, "xn--", 4) == 0)
			return false;
	}
	return true;
}

int
idn_to_hostname(const char *text, size_t length, struct hostname *ret)
{
	char copy[IDN_TEXT_MAX + 1];
	char *ascii = NULL;
	int status;

	if (is_plain(text, length))
		return hostname_parse(text, length, ret);
	if (length > IDN_TEXT_MAX)
		return STATUS_TOO_LONG;
	if (memchr(text, '\0', length) != NULL)
		return STATUS_MALFORMED;
	memcpy(copy, text, length);
	copy[length] = '\0';
	status = idn2_lookup_u8((const uint8_t *)copy, (uint8_t **)&ascii,
	    IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL | IDN2_ALABEL_ROUNDTRIP);
	if (status == IDN2_MALLOC)
		return STATUS_NO_MEMORY;
	if (status != IDN2_OK)
		return STATUS_MALFORMED;
	status = hostname_parse(ascii, strlen(ascii), ret);
	idn2_free(ascii);
	return status;
}
