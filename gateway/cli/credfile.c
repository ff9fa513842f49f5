#include "gateway/cli/credfile.h"

#include "gateway/cli/needs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

json_t *
credfile_load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	json_error_t error;
	json_t *root = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= LIMIT_CREDENTIALS_BYTES)
		root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
	(void)close(fd);
	return root;
}

json_t *
credfile_find(json_t *root, const char *name)
{
	return json_object_get(json_object_get(root, "credentials"), name);
}

static bool
is_renewed(json_t *credential)
{
	const char *kind =
	    json_string_value(json_object_get(credential, "kind"));

	return kind != NULL && strcmp(kind, "oauth2_refresh") == 0;
}

bool
credfile_keeps(json_t *root, const struct needs *needs)
{
	const char *name;
	json_t *value;

	/* Assertions are signed by a key that issuers have seen before. */
	if (json_object_get(root, "issuer") != NULL)
		return true;
	if (needs == NULL) {
		json_object_foreach(
		    json_object_get(root, "credentials"), name, value)
		{
			(void)name;
			if (is_renewed(value))
				return true;
		}
		return false;
	}
	for (size_t i = 0; i < needs->count; i++)
		if (is_renewed(credfile_find(root, needs->names[i])))
			return true;
	return false;
}
