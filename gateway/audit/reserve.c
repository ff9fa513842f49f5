#include "gateway/audit/reserve.h"

#include "gateway/audit/shelf.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct reserve {
	char path[SHELF_PATH];
	bool held;
};

struct reserve *
reserve_new(const char *audit)
{
	struct reserve *reserve = calloc(1, sizeof(*reserve));
	struct problem problem;

	if (reserve == NULL)
		return NULL;
	if (shelf_beside(audit, "reserve", reserve->path, &problem) !=
	    STATUS_OK) {
		free(reserve);
		return NULL;
	}
	return reserve;
}

void
reserve_free(struct reserve *reserve)
{
	free(reserve);
}

/* Some file systems give room only to what is written; there is none then. */
static bool
allocate(int fd)
{
	return fallocate(fd, 0, 0, LIMIT_AUDIT_RESERVE) == 0 ||
	       errno == EOPNOTSUPP || errno == ENOSYS;
}

static bool
has_free(int fd, uint64_t bytes)
{
	struct statvfs disk;

	return fstatvfs(fd, &disk) != 0 ||
	       (uint64_t)disk.f_bavail * disk.f_frsize >= bytes;
}

bool
reserve_hold(struct reserve *reserve)
{
	int fd;

	if (reserve->held)
		return true;
	fd = open(reserve->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return false;
	reserve->held = allocate(fd) && has_free(fd, LIMIT_AUDIT_RESERVE);
	(void)close(fd);
	if (!reserve->held)
		(void)unlink(reserve->path);
	return reserve->held;
}

void
reserve_give_up(struct reserve *reserve)
{
	(void)unlink(reserve->path);
	reserve->held = false;
}

bool
reserve_is_low(const struct reserve *reserve)
{
	struct statvfs disk;

	return statvfs(reserve->path, &disk) == 0 &&
	       (uint64_t)disk.f_bavail * disk.f_frsize < LIMIT_DISK_LOW;
}
