#include "gateway/files/same.h"

#include "gateway/files/beneath.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 65536

/* Plain files only: a pipe would make us wait. */
static int
open_file(int directory, const char *name)
{
	int fd = beneath_open(directory, name, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)))
		fd_done(&fd);
	return fd;
}

bool
same_files(int one_directory, const char *one_name, int other_directory,
    const char *other_name)
{
	ON_SCOPE_EXIT(fd_done) int one = open_file(one_directory, one_name);
	ON_SCOPE_EXIT(fd_done)
	int other = open_file(other_directory, other_name);
	char left[PIECE], right[PIECE];
	off_t at = 0;

	if (one < 0 || other < 0)
		return false;
	for (;;) {
		ssize_t got = pread(one, left, sizeof(left), at);

		if (got < 0 || pread(other, right, sizeof(right), at) != got ||
		    memcmp(left, right, (size_t)got) != 0)
			return false;
		if (got == 0)
			return true;
		at += got;
	}
}

bool
same_links(int one_directory, const char *one_name, int other_directory,
    const char *other_name)
{
	char one[LIMIT_PATH], other[LIMIT_PATH];
	ssize_t length = readlinkat(one_directory, one_name, one, sizeof(one));

	return length >= 0 &&
	       readlinkat(other_directory, other_name, other, sizeof(other)) ==
		   length &&
	       memcmp(one, other, (size_t)length) == 0;
}

bool
same_holds(int directory, const char *name, const char *const *needles)
{
	ON_SCOPE_EXIT(fd_done) int fd = open_file(directory, name);
	char bytes[LIMIT_SEARCH_BYTES];
	ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	if (length < 0)
		return true;
	for (; *needles != NULL; needles++)
		if (memmem(bytes, (size_t)length, *needles, strlen(*needles)) !=
		    NULL)
			return true;
	return false;
}
