#include "gateway/cli/settings.h"

#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char machine_ceiling[] = "/etc/exeat/ceiling.json";

static int
join(char *ret, const char *folder, const char *rest, struct problem *reterr)
{
	int length = snprintf(ret, SETTINGS_PATH_MAX, "%s%s", folder, rest);

	if (length < 0 || length >= SETTINGS_PATH_MAX)
		return problem_set(
		    reterr, "the path %.80s... is too long", folder);
	return STATUS_OK;
}

static void
read_account(struct settings *settings)
{
	const char *home = secure_getenv("HOME");
	const struct passwd *account = getpwuid(geteuid());
	const char *name = account == NULL ? NULL : account->pw_name;
	int length;

	if (home == NULL || home[0] != '/')
		home = account == NULL ? "" : account->pw_dir;
	length = snprintf(settings->home, sizeof(settings->home), "%s", home);
	if (length < 0 || (size_t)length >= sizeof(settings->home))
		settings->home[0] = '\0';
	if (name != NULL && strlen(name) < sizeof(settings->user))
		length = snprintf(
		    settings->user, sizeof(settings->user), "%s", name);
	else
		length = snprintf(settings->user, sizeof(settings->user),
		    "uid %u", (unsigned)geteuid());
	assert(length > 0 && (size_t)length < sizeof(settings->user));
	if (gethostname(settings->host, sizeof(settings->host)) != 0)
		settings->host[0] = '\0';
	settings->host[sizeof(settings->host) - 1] = '\0';
}

/* rest under the folder a variable names, or under a place in the home. */
static int
xdg_path(const struct settings *settings, const char *variable,
    const char *fallback, const char *rest, char *ret, struct problem *reterr)
{
	const char *folder = secure_getenv(variable);
	char under_home[SETTINGS_PATH_MAX];

	if (folder == NULL || folder[0] != '/') {
		int status;

		if (settings->home[0] != '/') {
			(void)problem_set(
			    reterr, "this account has no home directory");
			return problem_cure(reterr,
			    "set HOME or %s to an "
			    "absolute path",
			    variable);
		}
		status = join(under_home, settings->home, fallback, reterr);
		if (status != STATUS_OK)
			return status;
		folder = under_home;
	}
	return join(ret, folder, rest, reterr);
}

/* Without a folder that the session made for it, one beside the audit's. */
static int
find_runs(struct settings *settings, struct problem *reterr)
{
	const char *folder = secure_getenv("XDG_RUNTIME_DIR");

	if (folder != NULL && folder[0] == '/')
		return join(settings->runs, folder, "/exeat", reterr);
	return xdg_path(settings, "XDG_STATE_HOME", "/.local/state",
	    "/exeat/runs", settings->runs, reterr);
}

static int
find_ceilings(struct settings *settings, struct problem *reterr)
{
	const char *named = secure_getenv("EXEAT_CEILING");
	int status;

	/*
	 * Whether it can be read is for the loader to say: only one that does
	 * not exist is no ceiling.
	 */
	if (access(machine_ceiling, F_OK) == 0 || errno != ENOENT) {
		status = join(settings->ceilings[settings->ceiling_count++],
		    machine_ceiling, "", reterr);
		if (status != STATUS_OK)
			return status;
	}
	if (named == NULL || named[0] == '\0')
		return STATUS_OK;
	return join(
	    settings->ceilings[settings->ceiling_count++], named, "", reterr);
}

int
settings_read(struct settings *ret, struct problem *reterr)
{
	int status;

	*ret = (struct settings){ .user = "" };
	read_account(ret);
	status = xdg_path(ret, "XDG_CONFIG_HOME", "/.config",
	    "/exeat/policy.json", ret->policy, reterr);
	if (status != STATUS_OK)
		return status;
	status = xdg_path(ret, "XDG_CONFIG_HOME", "/.config",
	    "/exeat/credentials.json", ret->credentials, reterr);
	if (status != STATUS_OK)
		return status;
	status = xdg_path(ret, "XDG_CONFIG_HOME", "/.config",
	    "/exeat/templates", ret->templates, reterr);
	if (status != STATUS_OK)
		return status;
	status = xdg_path(ret, "XDG_STATE_HOME", "/.local/state",
	    "/exeat/audit.db", ret->audit, reterr);
	if (status != STATUS_OK)
		return status;
	status = xdg_path(ret, "XDG_STATE_HOME", "/.local/state",
	    "/exeat/files", ret->files, reterr);
	if (status != STATUS_OK)
		return status;
	status = xdg_path(ret, "XDG_STATE_HOME", "/.local/state", "/exeat/kept",
	    ret->kept, reterr);
	if (status != STATUS_OK)
		return status;
	status = find_runs(ret, reterr);
	if (status != STATUS_OK)
		return status;
	return find_ceilings(ret, reterr);
}

int
settings_make_folder(const char *file, struct problem *reterr)
{
	char path[SETTINGS_PATH_MAX];
	int status = join(path, file, "", reterr);

	if (status != STATUS_OK)
		return status;
	for (char *slash = strchr(path + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
			return problem_errno(
			    reterr, "cannot make the folder %s", path);
		*slash = '/';
	}
	return STATUS_OK;
}
