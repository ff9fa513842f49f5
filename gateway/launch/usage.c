#include "gateway/launch/usage.h"

#include "gateway/proc/fd.h"
#include "schema/cursor.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define USAGE_TEXT 4096
#define USAGE_BLOCK 512 /* the unit of st_blocks, whatever the disk's */

/* Fields of stat(5) behind the name: the state is the first of them. */
enum {
	STAT_UTIME = 11,
	STAT_STIME = 12,
	STAT_RSS = 21
};

static bool
read_text(int proc, const char *pid, const char *name, char *out, size_t size)
{
	char path[64];
	ssize_t got;
	ON_SCOPE_EXIT(fd_done) int fd = -1;

	if (snprintf(path, sizeof(path), "%s/%s", pid, name) >=
	    (int)sizeof(path))
		return false;
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, out, size - 1);
	out[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* The name stands in parentheses and may hold any of them. */
static bool
add_stat(const char *text, struct usage *usage)
{
	const char *behind = strrchr(text, ')');
	struct cursor in, word;
	uint64_t value;

	if (behind == NULL || behind[1] != ' ')
		return false;
	if (strchr("TtZX", behind[2]) != NULL)
		usage->stopped++;
	in = cursor_of_text(behind + 2);
	for (int i = 0; cursor_until(&in, ' ', &word); i++) {
		if (i != STAT_UTIME && i != STAT_STIME && i != STAT_RSS)
			continue;
		if (!cursor_decimal(&word, UINT64_MAX, &value))
			return false;
		if (i == STAT_RSS)
			usage->memory += value * (uint64_t)getpagesize();
		else
			usage->ticks += value;
	}
	usage->processes++;
	return true;
}

typedef void usage_visit(int proc, const char *pid, void *arg);

/* Each process, but not the first: that one is ours. */
static int
visit_all(int proc, usage_visit *visit, void *arg)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (list == NULL) {
		fd_done(&fd);
		return STATUS_SYSTEM;
	}
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    strcmp(entry->d_name, "1") != 0)
			visit(proc, entry->d_name, arg);
	(void)closedir(list);
	return STATUS_OK;
}

/* One that ended meanwhile uses nothing. */
static void
sample_one(int proc, const char *pid, void *arg)
{
	char text[USAGE_TEXT];

	if (read_text(proc, pid, "stat", text, sizeof(text)))
		(void)add_stat(text, arg);
}

int
usage_sample(int proc, struct usage *ret)
{
	struct usage usage = { 0 };
	int status = visit_all(proc, sample_one, &usage);

	if (status == STATUS_OK)
		*ret = usage;
	return status;
}

static void
add_share(int proc, const char *pid, void *arg)
{
	uint64_t *sum = arg, kib;
	char text[USAGE_TEXT];
	struct cursor in, line;

	if (!read_text(proc, pid, "smaps_rollup", text, sizeof(text)))
		return;
	in = cursor_of_text(text);
	while (cursor_until(&in, '\n', &line)) {
		if (!cursor_literal(&line, "Pss:"))
			continue;
		while (cursor_literal(&line, " "))
			;
		if (cursor_decimal(&line, UINT64_MAX / 1024, &kib))
			*sum += kib * 1024;
		return;
	}
}

int
usage_memory(int proc, uint64_t *ret)
{
	uint64_t sum = 0;
	int status = visit_all(proc, add_share, &sum);

	if (status == STATUS_OK)
		*ret = sum;
	return status;
}

int
usage_disk(const char *folder, uint64_t *ret)
{
	char *const paths[] = { unconst(folder), NULL };
	FTS *walk =
	    fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	const FTSENT *entry;
	uint64_t sum = 0;

	if (walk == NULL)
		return STATUS_SYSTEM;
	while ((entry = fts_read(walk)) != NULL)
		if (entry->fts_info != FTS_DP && entry->fts_info != FTS_NS &&
		    entry->fts_statp != NULL)
			sum +=
			    (uint64_t)entry->fts_statp->st_blocks * USAGE_BLOCK;
	(void)fts_close(walk);
	*ret = sum;
	return STATUS_OK;
}
