#include "gateway/cli/policies.h"

#include "gateway/cli/place.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/proc/sealed.h"
#include "schema/status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

/* What stands when nobody gave a policy. */
static const char nothing[] = "{ \"version\": 1, \"rules\": [] }";
static const char nothing_name[] = "no policy";

static bool
digest(const void *text, size_t length, uint8_t ret[POLICIES_DIGEST])
{
	unsigned size = 0;

	return EVP_Digest(text, length, ret, &size, EVP_sha256(), NULL) == 1 &&
	       size == POLICIES_DIGEST;
}

static int
add_layer(struct policies *policies, const char *name, const char *text,
    size_t length, struct problem *reterr)
{
	struct policies_layer *layer = &policies->layers[policies->count];
	size_t used = strlen(name);

	if (policies->count >= LIMIT_LAYERS)
		return problem_set(
		    reterr, "there are more than %d policies", LIMIT_LAYERS);
	/* The end of a long path tells more than its beginning. */
	if (used >= sizeof(layer->name)) {
		name += used - sizeof(layer->name) + 1;
		used = sizeof(layer->name) - 1;
	}
	memcpy(layer->name, name, used + 1);
	if (!digest(text, length, layer->sha256))
		return problem_set(reterr, "cannot hash the policy %s", name);
	if (sealed_of("policy", text, length, &layer->fd) != STATUS_OK)
		return problem_errno(reterr, "cannot seal the policy %s", name);
	policies->count++;
	return STATUS_OK;
}

/* Takes the text of an open file that is a policy's in size and kind. */
static int
read_text(int fd, const char *path, char **ret, size_t *ret_length,
    struct problem *reterr)
{
	struct stat st;
	size_t done = 0, length;
	char *text;

	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "cannot examine %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > LIMIT_POLICY_BYTES)
		return problem_set(
		    reterr, "%s is not a file, or too long", path);
	length = (size_t)st.st_size;
	text = calloc(length + 1, 1);
	if (text == NULL)
		return problem_set(reterr, "there is no memory for %s", path);
	while (done < length) {
		ssize_t got = read(fd, text + done, length - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	*ret = text;
	*ret_length = done;
	return STATUS_OK;
}

static int
add_file(struct policies *policies, const struct task *task, const char *path,
    struct problem *reterr)
{
	struct place place;
	char *text = NULL;
	size_t length = 0;
	int status = place_of(path, false, &place, reterr), fd;

	if (status != STATUS_OK)
		return status;
	if (task_can_write(task, place.path)) {
		(void)problem_set(
		    reterr, "the sandbox could write the policy %s", path);
		return problem_cure(reterr,
		    "keep it outside the workspace and writable mounts");
	}
	fd = open(place.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return problem_errno(reterr, "cannot open %s", path);
	status = read_text(fd, path, &text, &length, reterr);
	(void)close(fd);
	if (status == STATUS_OK)
		status = add_layer(policies, path, text, length, reterr);
	free(text);
	return status;
}

static void
try_file(struct policies *policies, const struct task *task, const char *path,
    struct problems *reterr)
{
	struct problem problem;

	if (add_file(policies, task, path, &problem) != STATUS_OK)
		problems_add(reterr, &problem);
}

/* Only a file that does not exist is none; one that cannot be read is. */
static bool
exists(const char *path)
{
	return access(path, F_OK) == 0 || errno != ENOENT;
}

int
policies_load(struct policies *ret, const struct task *task,
    const struct settings *settings, struct problems *reterr)
{
	*ret = (struct policies){ .count = 0 };
	for (size_t i = 0; i < settings->ceiling_count; i++)
		try_file(ret, task, settings->ceilings[i], reterr);
	for (size_t i = 0; i < task->policy_count; i++)
		try_file(ret, task, task->policies[i], reterr);
	if (task->policy_count == 0 && exists(settings->policy)) {
		try_file(ret, task, settings->policy, reterr);
	} else if (task->policy_count == 0) {
		struct problem problem;

		ret->none_given = true;
		if (add_layer(ret, nothing_name, nothing, sizeof(nothing) - 1,
			&problem) != STATUS_OK)
			problems_add(reterr, &problem);
	}
	if (!problems_any(reterr))
		return STATUS_OK;
	policies_done(ret);
	return STATUS_PROBLEM;
}

void
policies_done(struct policies *policies)
{
	for (size_t i = 0; i < policies->count; i++)
		(void)close(policies->layers[i].fd);
	policies->count = 0;
}
