#include "gateway/cli/provision.h"

#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/proc/log.h"
#include "gateway/proc/sealed.h"
#include "schema/status.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opened first and looked at then: a path could be another file by now. */
static int
open_kept(const struct task *task, const char *path, int *ret_fd,
    struct abspath *ret, struct problem *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int status;

	if (fd < 0)
		return problem_errno(reterr, "it cannot be opened");
	status = abspath_of_fd(fd, path, ret, reterr);
	if (status == STATUS_OK && task != NULL &&
	    task_shows(task, ret->path)) {
		(void)problem_set(reterr, "the sandbox could read it");
		status = problem_cure(reterr,
		    "keep it outside of the workspace and of what is mounted");
	}
	if (status != STATUS_OK) {
		(void)close(fd);
		return status;
	}
	*ret_fd = fd;
	return STATUS_OK;
}

int
provision_open(struct provision *ret, const char *path, const struct task *task,
    struct problem *reterr)
{
	struct problem problem = { .text = "" };

	*ret = (struct provision){ .fd = -1, .task = task };
	if (open_kept(task, path, &ret->fd, &ret->file, &problem) == STATUS_OK)
		return STATUS_OK;
	(void)problem_set(
	    reterr, "the credential file %.200s: %s", path, problem.text);
	if (problem.cure[0] != '\0')
		(void)problem_cure(reterr, "%s", problem.cure);
	return STATUS_PROBLEM;
}

void
provision_done(struct provision *provision)
{
	if (provision->fd >= 0)
		(void)close(steal_fd(&provision->fd));
}

/* A path that is not absolute is meant from where the file stands. */
static int
get_file(const struct provision *provision, const char *name, int *ret_fd,
    struct problem *reterr)
{
	char path[2 * ABSPATH_MAX];
	const char *slash = strrchr(provision->file.path, '/');
	struct abspath place;
	int length;

	if (name[0] == '/')
		return open_kept(provision->task, name, ret_fd, &place, reterr);
	length = snprintf(path, sizeof(path), "%.*s/%s",
	    (int)(slash - provision->file.path), provision->file.path, name);
	if (length < 0 || (size_t)length >= sizeof(path))
		return problem_set(reterr, "its path is too long");
	return open_kept(provision->task, path, ret_fd, &place, reterr);
}

/* What whoever started us left open for it; never one of our own. */
static int
get_fd(const struct provision *provision, const char *name, int *ret_fd,
    struct problem *reterr)
{
	struct cursor text = cursor_of_text(name);
	uint64_t number = 0;
	int flags, fd;

	(void)provision;
	if (!cursor_decimal(&text, INT16_MAX, &number) ||
	    !cursor_is_empty(&text))
		return problem_set(reterr, "this is no descriptor");
	flags = fcntl((int)number, F_GETFD);
	/* All of ours are closed when a program is started. */
	if (flags < 0 || (flags & FD_CLOEXEC) != 0)
		return problem_set(reterr,
		    "whoever started the run left no such "
		    "descriptor open");
	fd = fcntl((int)number, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return problem_errno(reterr, "it cannot be copied");
	*ret_fd = fd;
	return STATUS_OK;
}

static int
get_env(const struct provision *provision, const char *name, int *ret_fd,
    struct problem *reterr)
{
	const char *value = secure_getenv(name);

	(void)provision;
	if (value == NULL)
		return problem_set(reterr, "there is no such variable");
	if (sealed_of("variable", value, strlen(value), ret_fd) != STATUS_OK)
		return problem_errno(reterr, "it cannot be handed over");
	log_warning("the secret in the variable %s can be read by every "
		    "program of yours outside of sandboxes: for development "
		    "only",
	    name);
	return STATUS_OK;
}

static int
get_systemd(const struct provision *provision, const char *name, int *ret_fd,
    struct problem *reterr)
{
	const char *folder = secure_getenv("CREDENTIALS_DIRECTORY");
	char path[2 * ABSPATH_MAX];
	struct abspath place;
	int length;

	if (folder == NULL || folder[0] != '/') {
		(void)problem_set(reterr, "systemd has given no credentials");
		return problem_cure(
		    reterr, "set LoadCredential= in the unit that runs exeat");
	}
	if (strchr(name, '/') != NULL)
		return problem_set(reterr, "this is no name of a credential");
	length = snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (length < 0 || (size_t)length >= sizeof(path))
		return problem_set(reterr, "its path is too long");
	return open_kept(provision->task, path, ret_fd, &place, reterr);
}

int
provision_get(const struct provision *provision,
    const struct brokerage_want *want, int *ret_fd, struct problem *reterr)
{
	static int (*const ways[])(const struct provision *provision,
	    const char *name, int *ret_fd, struct problem *reterr) = {
		[BROKERAGE_FILE] = get_file,
		[BROKERAGE_FD] = get_fd,
		[BROKERAGE_ENV] = get_env,
		[BROKERAGE_SYSTEMD] = get_systemd,
	};

	static_assert(sizeof(ways) / sizeof(ways[0]) == BROKERAGE_SOURCE_COUNT,
	    "every source has a way to it");
	return ways[want->source](provision, want->name, ret_fd, reterr);
}

/* Of the folder that is open, so that nobody puts another in its place. */
static int
examine_folder(const struct provision *provision, const char *path, int fd,
    struct problem *reterr)
{
	struct abspath place;
	struct stat st;
	int status = abspath_of_fd(fd, path, &place, reterr);

	if (status != STATUS_OK)
		return status;
	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %.200s", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		(void)problem_set(reterr,
		    "the folder %.200s, for tokens that were renewed, is open "
		    "to others",
		    path);
		return problem_cure(reterr, "chmod 700 it");
	}
	if (provision->task == NULL || !task_shows(provision->task, place.path))
		return STATUS_OK;
	(void)problem_set(reterr,
	    "the sandbox could read the folder %.200s, for tokens that were "
	    "renewed",
	    path);
	return problem_cure(
	    reterr, "set XDG_STATE_HOME to a folder that it cannot see");
}

int
provision_folder(const struct provision *provision, const char *path,
    int *ret_fd, struct problem *reterr)
{
	char inside[ABSPATH_MAX];
	int length = snprintf(inside, sizeof(inside), "%s/", path);
	int fd, status;

	if (length < 0 || (size_t)length >= sizeof(inside))
		return problem_set(
		    reterr, "the path %.80s... is too long", path);
	status = settings_make_folder(inside, reterr);
	if (status != STATUS_OK)
		return status;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return problem_errno(reterr, "cannot open %.200s", path);
	status = examine_folder(provision, path, fd, reterr);
	if (status != STATUS_OK)
		(void)close(fd);
	else
		*ret_fd = fd;
	return status;
}
