#include "gateway/proc/sealed.h"

#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static bool
write_all(int fd, const unsigned char *bytes, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t wrote = write(fd, bytes + done, length - done);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return false;
		done += (size_t)wrote;
	}
	return true;
}

int
sealed_of(const char *name, const void *bytes, size_t length, int *ret_fd)
{
	int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int error;

	if (fd < 0)
		return STATUS_SYSTEM;
	if (write_all(fd, bytes, length) && lseek(fd, 0, SEEK_SET) == 0 &&
	    fcntl(fd, F_ADD_SEALS, seals) == 0) {
		*ret_fd = fd;
		return STATUS_OK;
	}
	error = errno;
	(void)close(fd);
	errno = error;
	return STATUS_SYSTEM;
}
