/*
 * replay - runs a fuzz target over the files of its corpus once.
 *
 * It fails when there is no file: a corpus that went missing is no success.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int
replay(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *bytes;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			(void)close(fd);
		return 0;
	}
	/* Exactly as large as the file, so that the sanitizer sees its end. */
	bytes = malloc(st.st_size == 0 ? 1 : (size_t)st.st_size);
	if (bytes == NULL)
		abort();
	got = read(fd, bytes, (size_t)st.st_size);
	(void)close(fd);
	if (got != st.st_size)
		abort();
	(void)LLVMFuzzerTestOneInput(bytes, (size_t)got);
	free(bytes);
	return 1;
}

int
main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	int count = 0;

	if (folder == NULL) {
		(void)fprintf(stderr, "usage: %s CORPUS\n", argv[0]);
		return 2;
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((entry = readdir(folder)) != NULL)
		count += replay(dirfd(folder), entry->d_name);
	(void)closedir(folder);
	(void)printf("%d inputs\n", count);
	return count > 0 ? 0 : 1;
}
