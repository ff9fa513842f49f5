#include "gateway/launch/search.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large, and not where people put secrets. */
static const char *const skipped[] = { "node_modules", "target" };

/* One search: a directory open at each depth, and the path to the deepest. */
struct search {
	search_call *call;
	void *arg;
	bool all;
	DIR *open[LIMIT_SEARCH_DEPTH];
	size_t path_length[LIMIT_SEARCH_DEPTH];
	size_t depth; /* how many are open */
	char path[PATH_MAX];
};

static bool
is_skipped(const struct search *search, const char *name)
{
	static const char objects[] = ".git/objects";
	size_t length = strlen(search->path);

	if (search->all)
		return false;
	for (size_t i = 0; i < sizeof(skipped) / sizeof(skipped[0]); i++)
		if (strcmp(name, skipped[i]) == 0)
			return true;
	/* "objects" only where git keeps them. */
	return length >= sizeof(objects) - 1 &&
	       strcmp(search->path + length - (sizeof(objects) - 1), objects) ==
		   0;
}

/* Goes into a directory of which search->path is the path already. */
static void
descend(struct search *search, int directory, const char *name, size_t back)
{
	int fd;
	DIR *stream;

	if (search->depth >= LIMIT_SEARCH_DEPTH)
		goto leave;
	fd = openat(
	    directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		goto leave;
	stream = fdopendir(fd);
	if (stream == NULL) {
		(void)close(fd);
		goto leave;
	}
	search->path_length[search->depth] = back;
	search->open[search->depth++] = stream;
	return;
leave:
	search->path[back] = '\0';
}

static void
ascend(struct search *search)
{
	search->depth--;
	(void)closedir(search->open[search->depth]);
	search->path[search->path_length[search->depth]] = '\0';
}

static unsigned char
type_of(int directory, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_WHT;
	return (unsigned char)IFTODT(st.st_mode);
}

static enum search_next
look_at(
    struct search *search, const struct dirent *dirent, struct problem *reterr)
{
	size_t used = strlen(search->path), length = strlen(dirent->d_name);
	size_t slash = used == 0 ? 0 : 1;
	struct search_entry entry = {
		.directory = dirfd(search->open[search->depth - 1]),
		.name = dirent->d_name,
		.path = search->path,
		.inode = dirent->d_ino,
	};
	enum search_next next;

	if (strcmp(entry.name, ".") == 0 || strcmp(entry.name, "..") == 0 ||
	    sizeof(search->path) - used < length + slash + 1)
		return SEARCH_ON;
	entry.type = type_of(entry.directory, dirent);
	if (slash == 1)
		search->path[used] = '/';
	memcpy(search->path + used + slash, entry.name, length + 1);
	next = search->call(&entry, search->arg, reterr);
	if (next == SEARCH_ON && entry.type == DT_DIR &&
	    !is_skipped(search, entry.name))
		descend(search, entry.directory, entry.name, used);
	else
		search->path[used] = '\0';
	return next;
}

int
search_run(int top, bool all, search_call *call, void *arg, bool *ret_cut,
    struct problem *reterr)
{
	struct search search = { .call = call, .arg = arg, .all = all };
	enum search_next next = SEARCH_ON;
	unsigned entries = 0;

	descend(&search, top, ".", 0);
	while (next != SEARCH_FAILED && search.depth > 0 &&
	       entries++ < LIMIT_SEARCH_ENTRIES) {
		/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
		const struct dirent *entry =
		    readdir(search.open[search.depth - 1]);

		if (entry == NULL)
			ascend(&search);
		else
			next = look_at(&search, entry, reterr);
	}
	if (next != SEARCH_FAILED)
		*ret_cut = search.depth > 0;
	while (search.depth > 0)
		ascend(&search);
	return next == SEARCH_FAILED ? STATUS_PROBLEM : STATUS_OK;
}
