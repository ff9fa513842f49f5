#include "gateway/proc/landlock.h"

#include "schema/status.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rights by the version that brought them; our headers may be older. */
static const uint64_t rights_of_version[] = {
	(UINT64_C(1) << 13) - 1, /* 1: thirteen rights to files */
	UINT64_C(1) << 13, /* 2: to link and rename across folders */
	UINT64_C(1) << 14, /* 3: to truncate */
	0, /* 4: TCP, below */
	UINT64_C(1) << 15, /* 5: ioctl on devices */
};

#define WITH_TCP 4
#define TCP_BIND_AND_CONNECT UINT64_C(3)

/* struct landlock_ruleset_attr as it is since version 4. */
struct ruleset {
	uint64_t files, tcp;
};

static uint64_t
known_rights(long version)
{
	size_t count = sizeof(rights_of_version) / sizeof(rights_of_version[0]);
	uint64_t rights = 0;

	for (size_t i = 0; i < count && (long)i < version; i++)
		rights |= rights_of_version[i];
	return rights;
}

#define TRUNCATE (UINT64_C(1) << 14)

static int
allow(int rules, int folder, uint64_t known)
{
	struct landlock_path_beneath_attr beneath = {
		.allowed_access =
		    LANDLOCK_ACCESS_FS_READ_FILE |
		    LANDLOCK_ACCESS_FS_WRITE_FILE |
		    LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
		    LANDLOCK_ACCESS_FS_MAKE_SOCK |
		    LANDLOCK_ACCESS_FS_REMOVE_FILE | (known & TRUNCATE),
		.parent_fd = folder
	};

	if (folder < 0)
		return STATUS_OK;
	return syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH,
		   &beneath, 0) == 0
		   ? STATUS_OK
		   : STATUS_SYSTEM;
}

int
landlock_close(int folder, bool network)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset ruleset = { .files = known_rights(version) };
	size_t size = sizeof(ruleset.files);
	int rules, status;

	if (version < 1)
		return errno == ENOSYS || errno == EOPNOTSUPP ? STATUS_NOT_FOUND
							      : STATUS_SYSTEM;
	if (version >= WITH_TCP && !network) {
		ruleset.tcp = TCP_BIND_AND_CONNECT;
		size = sizeof(ruleset);
	}
	rules = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
	if (rules < 0)
		return STATUS_SYSTEM;
	status = allow(rules, folder, ruleset.files);
	if (status == STATUS_OK &&
	    syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		status = STATUS_SYSTEM;
	(void)close(rules);
	return status;
}
