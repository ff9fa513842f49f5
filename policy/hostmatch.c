#include "policy/hostmatch.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

/*
 * Whether name matches a pattern whose "*" stand in one label: as no "*"
 * passes a dot, going back to the last one is enough.
 */
static bool
glob_holds(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			resume = name;
			continue;
		}
		if (*pattern == *name) {
			pattern++;
			name++;
			continue;
		}
		if (star == NULL || *resume == '.')
			return false;
		pattern = star;
		name = ++resume;
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static int
copy_text(struct hostmatch *match, enum hostmatch_kind kind, const char *text,
    size_t length)
{
	char *copy = calloc(length + 1, 1);

	if (copy == NULL)
		return STATUS_NO_MEMORY;
	if (length > 0)
		memcpy(copy, text, length);
	*match = (struct hostmatch){
		.kind = kind, .length = (uint8_t)length, .text = copy
	};
	return STATUS_OK;
}

/* A pattern is a name once a letter stands for each of its "*". */
static int
init_glob(struct hostmatch *match, const char *text, size_t length)
{
	char stand_in[LIMIT_HOST + 1];
	size_t first = length, end = length, last = 0;
	struct hostname name;
	int status;

	if (length > LIMIT_HOST)
		return STATUS_MALFORMED;
	for (size_t i = 0; i < length; i++) {
		stand_in[i] = text[i];
		if (text[i] != '*')
			continue;
		stand_in[i] = 'x';
		first = first == length ? i : first;
		last = i;
	}
	if (memchr(text + first, '.', last - first) != NULL)
		return STATUS_REFUSED;
	if (hostname_parse(stand_in, length, &name) != STATUS_OK)
		return STATUS_MALFORMED;
	length = name.length;
	for (size_t i = 0; i < length; i++)
		if (text[i] == '*')
			name.text[i] = '*';
	status = copy_text(match, HOSTMATCH_GLOB, name.text, length);
	if (status != STATUS_OK)
		return status;
	for (end = last; end < length && name.text[end] != '.'; end++)
		;
	match->zone = (uint8_t)(end < length ? end + 1 : length);
	return STATUS_OK;
}

int
hostmatch_init(struct hostmatch *match, const char *text, size_t length)
{
	enum hostmatch_kind kind = HOSTMATCH_EXACT;
	struct hostname name;

	if (length == 1 && text[0] == '*')
		return copy_text(match, HOSTMATCH_SUFFIX, "", 0);
	if (length > 2 && text[0] == '*' && text[1] == '.' &&
	    memchr(text + 1, '*', length - 1) == NULL) {
		kind = HOSTMATCH_SUFFIX;
		text += 2;
		length -= 2;
	} else if (memchr(text, '*', length) != NULL) {
		return init_glob(match, text, length);
	}
	if (hostname_parse(text, length, &name) != STATUS_OK)
		return STATUS_MALFORMED;
	/* Below a name of full length there is none. */
	if (kind == HOSTMATCH_SUFFIX && name.length > LIMIT_HOST - 2)
		return STATUS_MALFORMED;
	return copy_text(match, kind, name.text, name.length);
}

void
hostmatch_done(struct hostmatch *match)
{
	if (match == NULL)
		return;
	free(match->text);
	memset(match, 0, sizeof(*match));
}

static bool
is_below(const char *name, size_t length, const struct hostmatch *zone)
{
	size_t at;

	if (zone->length == 0)
		return true;
	if (length < zone->length + (size_t)2)
		return false;
	at = length - zone->length;
	return name[at - 1] == '.' &&
	       memcmp(name + at, zone->text, zone->length) == 0;
}

bool
hostmatch_holds(const struct hostmatch *match, const struct hostname *name)
{
	switch (match->kind) {
	case HOSTMATCH_EXACT:
		return match->length == name->length &&
		       memcmp(match->text, name->text, name->length) == 0;
	case HOSTMATCH_GLOB:
		return glob_holds(match->text, name->text);
	case HOSTMATCH_SUFFIX:
		return is_below(name->text, name->length, match);
	}
	return false;
}

bool
hostmatch_covers(const struct hostmatch *wide, const struct hostmatch *narrow)
{
	struct hostname name = { .length = narrow->length };

	if (wide->kind == narrow->kind && wide->length == narrow->length &&
	    memcmp(wide->text, narrow->text, wide->length) == 0)
		return true;
	/* A "*" in the name is a byte like others to a suffix or a glob. */
	memcpy(name.text, narrow->text, narrow->length);
	switch (narrow->kind) {
	case HOSTMATCH_EXACT:
		return hostmatch_holds(wide, &name);
	case HOSTMATCH_GLOB:
		return wide->kind != HOSTMATCH_EXACT &&
		       hostmatch_holds(wide, &name);
	case HOSTMATCH_SUFFIX:
		return wide->kind == HOSTMATCH_SUFFIX &&
		       hostmatch_holds(wide, &name);
	}
	return false;
}

bool
hostmatch_may_meet(const struct hostmatch *a, const struct hostmatch *b)
{
	if (a->kind == HOSTMATCH_EXACT)
		return hostmatch_covers(b, a);
	if (b->kind == HOSTMATCH_EXACT)
		return hostmatch_covers(a, b);
	if (a->kind == HOSTMATCH_SUFFIX && b->kind == HOSTMATCH_SUFFIX)
		return hostmatch_covers(a, b) || hostmatch_covers(b, a);
	return true;
}

const char *
hostmatch_zone(const struct hostmatch *match)
{
	switch (match->kind) {
	case HOSTMATCH_EXACT:
		break;
	case HOSTMATCH_GLOB:
		return match->text + match->zone;
	case HOSTMATCH_SUFFIX:
		return match->text;
	}
	return NULL;
}

void
hostmatch_print(const struct hostmatch *match, char out[HOSTMATCH_TEXT_MAX])
{
	size_t at = 0;

	if (match->kind == HOSTMATCH_SUFFIX) {
		out[at++] = '*';
		if (match->length > 0)
			out[at++] = '.';
	}
	memcpy(out + at, match->text, match->length);
	out[at + match->length] = '\0';
}
