#include "gateway/cli/abspath.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
abspath_of_fd(
    int fd, const char *path, struct abspath *ret, struct problem *reterr)
{
	char link[64];
	struct stat here, there;
	struct abspath place;
	ssize_t length;

	if (snprintf(link, sizeof(link), "/proc/self/fd/%d", fd) < 0)
		return problem_set(reterr, "cannot find %s", path);
	length = readlink(link, place.path, sizeof(place.path));
	if (length < 0)
		return problem_errno(reterr, "cannot find %s", path);
	if ((size_t)length >= sizeof(place.path))
		return problem_set(reterr, "the path of %s is too long", path);
	place.path[length] = '\0';
	if (fstat(fd, &here) != 0 || stat(place.path, &there) != 0)
		return problem_errno(reterr, "cannot find %s", path);
	if (here.st_ino != there.st_ino || here.st_dev != there.st_dev)
		return problem_set(reterr, "%s has no name any more", path);
	*ret = place;
	return STATUS_OK;
}

int
abspath_of(
    const char *path, bool folder, struct abspath *ret, struct problem *reterr)
{
	int flags = O_PATH | O_CLOEXEC | (folder ? O_DIRECTORY : 0);
	int fd = open(path, flags);
	int status;

	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	status = abspath_of_fd(fd, path, ret, reterr);
	(void)close(fd);
	return status;
}

int
abspath_of_new(const char *path, struct abspath *ret, struct problem *reterr)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	char parent[ABSPATH_MAX];
	struct abspath folder, place;
	size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
	int status, wrote;

	if (name[0] == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return problem_set(reterr, "%s names no file", path);
	if (length >= sizeof(parent))
		return problem_set(reterr, "the path of %s is too long", name);
	memcpy(parent, path, length);
	parent[length] = '\0';
	status = abspath_of(length == 0 ? "." : parent, true, &folder, reterr);
	if (status != STATUS_OK)
		return status;
	wrote = snprintf(place.path, sizeof(place.path), "%s/%s",
	    strcmp(folder.path, "/") == 0 ? "" : folder.path, name);
	if (wrote < 0 || (size_t)wrote >= sizeof(place.path))
		return problem_set(reterr, "the path of %s is too long", name);
	*ret = place;
	return STATUS_OK;
}

bool
abspath_is_within(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}
