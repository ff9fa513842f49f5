#include "gateway/files/beneath.h"

#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int
beneath_open(int directory, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

int
beneath_parent(int directory, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[LIMIT_PATH];
	size_t length = slash == NULL ? 1 : (size_t)(slash - path);
	int fd;

	if (length >= sizeof(parent)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(parent, slash == NULL ? "." : path, length);
	parent[length] = '\0';
	fd = beneath_open(directory, parent, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		*ret_name = slash == NULL ? path : slash + 1;
	return fd;
}
