#include "gateway/files/glob.h"

#include "schema/limits.h"

#include <stddef.h>
#include <string.h>

static bool
is_dots(const char *part, size_t length)
{
	return (length == 1 || length == 2) && strspn(part, ".") >= length;
}

const char *
glob_fault(const char *pattern)
{
	if (pattern[0] == '\0' || strlen(pattern) > LIMIT_PATTERN)
		return "is empty or too long";
	if (pattern[0] == '/')
		return "begins with a slash, but is read below the workspace";
	if (strpbrk(pattern, "[]{}!\\") != NULL)
		return "has a character that means nothing here: use ?, * "
		       "and **";
	for (const char *part = pattern;; part++) {
		size_t length = strcspn(part, "/");

		if (length == 0 || is_dots(part, length))
			return "has an empty part, or one of dots";
		if (length != 2 && memmem(part, length, "**", 2) != NULL)
			return "has ** beside other characters";
		part += length;
		if (*part == '\0')
			return NULL;
	}
}

/* Where a match that went wrong can be taken up again. */
struct retry {
	const char *pattern, *text; /* pattern is NULL: nowhere */
};

/* Behind the next slash of text, or NULL. */
static const char *
next_part(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash == NULL ? NULL : slash + 1;
}

/*
 * A "**" takes up whatever an earlier star could have, so only the last star
 * of each kind is ever tried again.
 */
static bool
go_back(struct retry *star, struct retry *parts, struct retry *ret)
{
	if (star->pattern != NULL && *star->text != '\0' &&
	    *star->text != '/') {
		star->text++;
		*ret = *star;
		return true;
	}
	star->pattern = NULL;
	if (parts->pattern == NULL)
		return false;
	parts->text = next_part(parts->text);
	if (parts->text == NULL)
		return false;
	*ret = *parts;
	return true;
}

static bool
matches_whole(const char *pattern, const char *text)
{
	struct retry star = { NULL, NULL }, parts = { NULL, NULL };
	struct retry at = { pattern, text };

	for (;;) {
		const char *p = at.pattern;

		if (strcmp(p, "**") == 0)
			return true;
		if (strncmp(p, "**/", 3) == 0) {
			at.pattern += 3;
			parts = at;
			star.pattern = NULL;
		} else if (*p == '*') {
			at.pattern++;
			star = at;
		} else if (*p == '\0' && *at.text == '\0') {
			return true;
		} else if (*p != '\0' && *at.text != '\0' &&
			   (*p == *at.text || (*p == '?' && *at.text != '/'))) {
			at.pattern++;
			at.text++;
		} else if (!go_back(&star, &parts, &at)) {
			return false;
		}
	}
}

bool
glob_matches(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (strchr(pattern, '/') == NULL && slash != NULL)
		path = slash + 1;
	return matches_whole(pattern, path);
}
