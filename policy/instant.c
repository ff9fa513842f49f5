#include "policy/instant.h"

#include "schema/status.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define US_PER_S INT64_C(1000000)

/* Exactly so many digits. */
static bool
read_field(struct cursor *in, size_t digits, uint64_t max, int *ret)
{
	struct cursor field;
	uint64_t value;

	if (!cursor_take(in, digits, &field) ||
	    !cursor_decimal(&field, max, &value) || !cursor_is_empty(&field))
		return false;
	*ret = (int)value;
	return true;
}

static bool
read_date_time(struct cursor *in, struct tm *tm)
{
	if (!read_field(in, 4, 9999, &tm->tm_year) ||
	    !cursor_literal(in, "-") || !read_field(in, 2, 12, &tm->tm_mon) ||
	    !cursor_literal(in, "-") || !read_field(in, 2, 31, &tm->tm_mday))
		return false;
	if (!cursor_literal(in, "T") && !cursor_literal(in, "t"))
		return false;
	if (!read_field(in, 2, 23, &tm->tm_hour) || !cursor_literal(in, ":") ||
	    !read_field(in, 2, 59, &tm->tm_min) || !cursor_literal(in, ":") ||
	    !read_field(in, 2, 60, &tm->tm_sec))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return true;
}

/* A fraction of a second says nothing that a policy needs; it is dropped. */
static bool
skip_fraction(struct cursor *in)
{
	uint64_t fraction;

	return !cursor_literal(in, ".") ||
	       cursor_decimal(in, UINT64_MAX, &fraction);
}

static bool
read_offset(struct cursor *in, int64_t *ret_s)
{
	int sign = 1, hours, minutes;

	*ret_s = 0;
	if (cursor_literal(in, "Z") || cursor_literal(in, "z"))
		return true;
	if (cursor_literal(in, "-"))
		sign = -1;
	else if (!cursor_literal(in, "+"))
		return false;
	if (!read_field(in, 2, 23, &hours) || !cursor_literal(in, ":") ||
	    !read_field(in, 2, 59, &minutes))
		return false;
	*ret_s = sign * (hours * INT64_C(60) + minutes) * 60;
	return true;
}

int
instant_parse(struct cursor text, int64_t *ret)
{
	struct tm tm = { 0 }, again;
	int64_t offset;
	time_t at;

	if (!read_date_time(&text, &tm) || !skip_fraction(&text) ||
	    !read_offset(&text, &offset) || !cursor_is_empty(&text))
		return STATUS_MALFORMED;
	again = tm;
	at = timegm(&again);
	/* The 31st of February has become another day. */
	if (again.tm_mday != tm.tm_mday && tm.tm_sec < 60)
		return STATUS_MALFORMED;
	*ret = ((int64_t)at - offset) * US_PER_S;
	return STATUS_OK;
}

void
instant_print(int64_t at_us, char out[INSTANT_TEXT_MAX])
{
	time_t at = (time_t)(at_us / US_PER_S);
	struct tm tm;

	if (gmtime_r(&at, &tm) == NULL ||
	    snprintf(out, INSTANT_TEXT_MAX, "%04d-%02d-%02dT%02d:%02d:%02dZ",
		tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		tm.tm_min, tm.tm_sec) >= INSTANT_TEXT_MAX)
		memcpy(out, "-", 2);
}
