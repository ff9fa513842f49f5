#include "gateway/cli/policies.h"

#include "gateway/cli/expand.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/cli/uplink.h"
#include "gateway/proc/channel.h"
#include "gateway/proc/sealed.h"
#include "policy/honour.h"
#include "policy/rule.h"
#include "schema/order.h"
#include "schema/status.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The calls that need no provider: to load one takes as long as a sandbox's
 * namespaces. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

static_assert(
    sizeof(((struct policies_layer *)NULL)->sha256) == SHA256_DIGEST_LENGTH,
    "a layer has room for its hash");

/* What stands when nobody gave a policy. */
static const char nothing[] = "{ \"version\": 1, \"rules\": [] }";
static const char nothing_name[] = "no policy";

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
	if (sealed_of("policy", text, length, &layer->fd) != STATUS_OK)
		return problem_errno(reterr, "cannot seal the policy %s", name);
	policies->count++;
	return STATUS_OK;
}

static bool
is_writable(const char *path, const void *task)
{
	return task_can_write(task, path);
}

/* What would be ignored stops a run before it begins. */
static void
check_promises(
    const char *path, const struct policy *policy, struct problems *reterr)
{
	struct honour_gap gap;
	struct problem problem;

	if (!honour_find_gap(policy, &gap))
		return;
	if (gap.rule == NULL)
		(void)problem_set(&problem,
		    "%s: this build cannot carry out \"%s\" of the policy",
		    path, gap.key);
	else
		(void)problem_set(&problem,
		    "%s: this build cannot carry out \"%s\" of the rule "
		    "\"%s\"",
		    path, gap.key, rule_id(gap.rule));
	(void)problem_cure(&problem, "leave it out until it can be");
	problems_add(reterr, &problem);
}

static void
add_full(const char *who, struct problems *reterr)
{
	struct problem problem;

	(void)problem_set(&problem,
	    "%s: there is no room for all credentials that it names", who);
	problems_add(reterr, &problem);
}

static void
add_file(struct policies *policies, const char *path, sets_writable *writable,
    const void *arg, struct problems *reterr)
{
	struct expansion expansion;
	struct problems found = { .list = NULL };
	struct problem problem;

	if (expand_file(path, writable, arg, &expansion, &found) == STATUS_OK) {
		if (add_layer(policies, path, expansion.text, expansion.length,
			&problem) != STATUS_OK)
			problems_add(reterr, &problem);
		check_promises(path, expansion.policy, reterr);
		if (needs_add(&policies->needs, expansion.policy) != STATUS_OK)
			add_full(path, reterr);
		expansion_done(&expansion);
	}
	for (size_t i = 0; i < found.count; i++)
		problems_add_in(reterr, path, &found.list[i]);
	reterr->dropped += found.dropped;
	problems_done(&found);
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
		add_file(ret, settings->ceilings[i], is_writable, task, reterr);
	ret->ceiling_count = ret->count;
	for (size_t i = 0; i < task->policy_count; i++)
		add_file(ret, task->policies[i], is_writable, task, reterr);
	if (task->policy_count == 0 && exists(settings->policy)) {
		add_file(ret, settings->policy, is_writable, task, reterr);
	} else if (task->policy_count == 0) {
		struct problem problem;

		ret->none_given = true;
		if (add_layer(ret, nothing_name, nothing, sizeof(nothing) - 1,
			&problem) != STATUS_OK)
			problems_add(reterr, &problem);
	}
	if (uplink_need(&task->via, &ret->needs) != STATUS_OK)
		add_full("--via-credential", reterr);
	if (!problems_any(reterr))
		return STATUS_OK;
	policies_done(ret);
	return STATUS_PROBLEM;
}

int
policies_read(struct policies *ret, char *const *files, size_t count,
    sets_writable *writable, const void *arg, struct problems *reterr)
{
	*ret = (struct policies){ .count = 0 };
	for (size_t i = 0; i < count; i++)
		add_file(ret, files[i], writable, arg, reterr);
	if (!problems_any(reterr)) {
		struct problem problem;

		if (policies_hash(ret, &problem) == STATUS_OK)
			return STATUS_OK;
		problems_add(reterr, &problem);
	}
	policies_done(ret);
	return STATUS_PROBLEM;
}

static int
hash(struct policies_layer *layer)
{
	struct stat st;
	SHA256_CTX sha256;
	void *text;
	bool well;

	if (fstat(layer->fd, &st) != 0)
		return STATUS_SYSTEM;
	text = mmap(
	    NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, layer->fd, 0);
	if (text == MAP_FAILED)
		return STATUS_SYSTEM;
	well = SHA256_Init(&sha256) == 1 &&
	       SHA256_Update(&sha256, text, (size_t)st.st_size) == 1 &&
	       SHA256_Final(layer->sha256, &sha256) == 1;
	(void)munmap(text, (size_t)st.st_size);
	return well ? STATUS_OK : STATUS_SYSTEM;
}

int
policies_hash(struct policies *policies, struct problem *reterr)
{
	for (size_t i = 0; i < policies->count; i++)
		if (hash(&policies->layers[i]) != STATUS_OK)
			return problem_set(reterr, "cannot hash the policy %s",
			    policies->layers[i].name);
	return STATUS_OK;
}

int
policies_send(const struct policies *policies, struct channel *gateway)
{
	unsigned char packet[LIMIT_RULE_TEXT + 256];
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < policies->count; i++) {
		const struct policies_layer *layer = &policies->layers[i];
		struct cursor_writer out =
		    frame_begin(FRAME_ORDER_LAYER, packet, sizeof(packet));
		struct order_layer order = { .name = "" };

		memcpy(order.name, layer->name, sizeof(order.name));
		memcpy(order.sha256, layer->sha256, sizeof(order.sha256));
		order_layer_write(&order, &out);
		status = channel_send(gateway, &out, &layer->fd, 1);
	}
	return status;
}

void
policies_done(struct policies *policies)
{
	for (size_t i = 0; i < policies->count; i++)
		(void)close(policies->layers[i].fd);
	policies->count = 0;
	needs_done(&policies->needs);
}
