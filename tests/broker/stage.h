/*
 * stage - a credential file and its secrets, for tests of the broker.
 */
#ifndef TESTS_BROKER_STAGE_H
#define TESTS_BROKER_STAGE_H

#include "broker/catalog.h"
#include "schema/status.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A descriptor to read text from; mode is the file's. */
static inline int
stage_file(const char *text, mode_t mode)
{
	int fd = memfd_create("secret", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fchmod(fd, mode) != 0 || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

/* Gives every secret that is needed this text. */
static inline void
stage_give(struct catalog *catalog, const char *secret)
{
	struct brokerage_want want;
	struct problems problems = { .count = 0 };
	size_t at = 0;

	while (catalog_want(catalog, &at, &want)) {
		int fd = stage_file(secret, 0600);

		if (catalog_give(catalog, want.number, fd, &problems) !=
		    STATUS_OK) {
			(void)fprintf(stderr, "%s\n", problems.list[0].text);
			abort();
		}
		(void)close(fd);
	}
}

/* The file as a catalog that needs everything; aborts on a problem. */
static inline struct catalog *
stage_load(const char *text)
{
	struct catalog *catalog = NULL;
	struct problems problems = { .count = 0 };

	if (catalog_load(cursor_of_text(text), &catalog, &problems) !=
	    STATUS_OK) {
		for (size_t i = 0; i < problems.count; i++)
			(void)fprintf(stderr, "%u:%u %s\n",
			    problems.list[i].line, problems.list[i].column,
			    problems.list[i].text);
		abort();
	}
	catalog_need_all(catalog);
	return catalog;
}

#endif
