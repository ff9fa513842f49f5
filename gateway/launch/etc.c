#include "gateway/launch/etc.h"

#include "gateway/launch/mounts.h"
#include "gateway/launch/netns.h"
#include "gateway/launch/plan.h"
#include "gateway/launch/userns.h"
#include "gateway/launch/view.h"
#include "gateway/proc/fd.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that are copied, wherever their links lead. */
static const char *const files[] = { "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/os-release", "/etc/localtime", "/etc/timezone",
	"/etc/debian_version", "/etc/protocols", "/etc/services",
	"/etc/ethertypes", "/etc/rpc", "/etc/mime.types", "/etc/magic",
	"/etc/shells", "/etc/profile", "/etc/bash.bashrc", "/etc/inputrc",
	"/etc/gai.conf", "/etc/host.conf", "/etc/locale.alias",
	"/etc/login.defs", "/etc/xattr.conf", "/etc/apt/sources.list",
	"/etc/ssl/openssl.cnf" };

/* Directories that are bound read-only. */
static const char *const directories[] = { "/etc/ld.so.conf.d",
	"/etc/alternatives", "/etc/terminfo", "/etc/fonts", "/etc/perl",
	"/etc/dpkg", "/etc/groff", "/etc/vim", "/etc/xml", "/etc/sgml",
	"/etc/apt/sources.list.d", "/etc/apt/trusted.gpg.d",
	"/etc/apt/preferences.d", "/etc/chromium.d" };

/* The same, by how their names begin: there is one a version. */
static const char *const families[] = { "java", "python", "maven" };

static int
copy_file(struct mounts *mounts, const char *path, struct problem *reterr)
{
	ON_SCOPE_EXIT(fd_done) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	unsigned char *bytes;
	ssize_t length;
	int status;

	/* Missing, or not for the sandbox's user: then it is not there. */
	if (fd < 0)
		return STATUS_OK;
	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > LIMIT_ETC_BYTES)
		return STATUS_OK;
	bytes = malloc(LIMIT_ETC_BYTES);
	if (bytes == NULL)
		return STATUS_NO_MEMORY;
	length = read(fd, bytes, LIMIT_ETC_BYTES);
	status = length < 0
		     ? problem_errno(reterr, "cannot read %s", path)
		     : mounts_file(mounts, path, bytes, (size_t)length, reterr);
	free(bytes);
	return status;
}

static int
bind_directory(struct mounts *mounts, const char *path, struct problem *reterr)
{
	struct stat st;

	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return STATUS_OK;
	return mounts_bind(mounts, path,
	    MOUNTS_BOUND | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, reterr);
}

static bool
is_family(const char *name)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncmp(name, families[i], strlen(families[i])) == 0)
			return true;
	return false;
}

static int
bind_families(struct mounts *mounts, struct problem *reterr)
{
	DIR *etc = opendir("/etc");
	const struct dirent *entry;
	int status = STATUS_OK;

	if (etc == NULL)
		return problem_errno(reterr, "cannot list /etc");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while (status == STATUS_OK && (entry = readdir(etc)) != NULL) {
		char path[NAME_MAX + 8];

		if (!is_family(entry->d_name))
			continue;
		if (snprintf(path, sizeof(path), "/etc/%s", entry->d_name) < 0)
			status = STATUS_TOO_LONG;
		else
			status = bind_directory(mounts, path, reterr);
	}
	(void)closedir(etc);
	return status;
}

static int put_text(struct mounts *mounts, const char *path,
    struct problem *reterr, const char *format, ...) PRINTF_LIKE(4, 5);

static int
put_text(struct mounts *mounts, const char *path, struct problem *reterr,
    const char *format, ...)
{
	char text[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started above */
	length = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(text))
		return STATUS_TOO_LONG;
	return mounts_file(mounts, path, text, (size_t)length, reterr);
}

/* The user "nobody" is there for what the id map does not know. */
static int
put_users(
    struct mounts *mounts, const struct plan *plan, struct problem *reterr)
{
	int status = put_text(mounts, "/etc/passwd", reterr,
	    "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
	    "%s:x:%d:%d:%s:" VIEW_HOME_PARENT "/%s:%s\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	    plan->user, USERNS_ID, USERNS_ID, plan->user, plan->user,
	    access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh");

	if (status != STATUS_OK)
		return status;
	return put_text(mounts, "/etc/group", reterr,
	    "root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", plan->user, USERNS_ID);
}

static int
put_names(
    struct mounts *mounts, const struct plan *plan, struct problem *reterr)
{
	int status = put_text(mounts, "/etc/hosts", reterr,
	    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n"
	    "127.0.1.1\t%s\n",
	    plan->hostname);

	if (status == STATUS_OK)
		status = put_text(
		    mounts, "/etc/hostname", reterr, "%s\n", plan->hostname);
	if (status == STATUS_OK)
		status = put_text(mounts, "/etc/resolv.conf", reterr,
		    "nameserver " NETNS_NAMESERVER "\noptions timeout:5\n");
	if (status == STATUS_OK)
		status = put_text(mounts, "/etc/nsswitch.conf", reterr,
		    "passwd: files\ngroup: files\nshadow: files\n"
		    "hosts: files dns\nnetworks: files\nprotocols: files\n"
		    "services: files\nethers: files\nrpc: files\n");
	if (status == STATUS_OK)
		status = put_text(mounts, "/etc/machine-id", reterr, "%s", "");
	return status;
}

int
etc_build(
    struct mounts *mounts, const struct plan *plan, struct problem *reterr)
{
	int status = put_users(mounts, plan, reterr);

	if (status == STATUS_OK)
		status = put_names(mounts, plan, reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(files) / sizeof(files[0]); i++)
		status = copy_file(mounts, files[i], reterr);
	for (size_t i = 0; status == STATUS_OK &&
			   i < sizeof(directories) / sizeof(directories[0]);
	     i++)
		status = bind_directory(mounts, directories[i], reterr);
	if (status == STATUS_OK)
		status = bind_families(mounts, reterr);
	/* Empty: the machine's may name a proxy and its password. */
	if (status == STATUS_OK)
		status =
		    mounts_make(mounts, "/etc/apt/apt.conf.d", 0755, reterr);
	return status;
}
