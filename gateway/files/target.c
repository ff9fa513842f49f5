#include "gateway/files/target.h"

#include "schema/limits.h"

#include <stddef.h>
#include <string.h>

bool
target_is_plain(const char *path)
{
	size_t length = strlen(path);

	if (length < 1 || length >= LIMIT_PATH || path[0] != '/')
		return false;
	if (length == 1)
		return true;
	for (const char *part = path; part != NULL;
	     part = strchr(part + 1, '/')) {
		size_t size = strcspn(part + 1, "/");

		if (size == 0 || (size == 1 && part[1] == '.') ||
		    (size == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

static bool
is_at_or_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	return strncmp(path, top, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

/* What the view itself is made of is not anybody's to cover. */
static bool
is_ours(const char *at)
{
	static const char *const whole[] = { "/proc", "/sys", "/dev", "/etc",
		"/usr", "/bin", "/sbin", "/lib", "/lib64" };
	static const char *const alone[] = { "/", "/tmp", "/var", "/var/tmp",
		"/run", "/home", "/opt", "/nix" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (is_at_or_below(at, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		if (strcmp(at, alone[i]) == 0)
			return true;
	return false;
}

const char *
target_fault(const char *at)
{
	if (!target_is_plain(at))
		return "is no absolute path without \"..\" in it";
	if (is_ours(at))
		return "is a place that the sandbox needs itself";
	return NULL;
}
