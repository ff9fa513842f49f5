#include "policy/stack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct stack {
	unsigned references;
	bool observes;
	size_t count;
	const struct policy *layers[LIMIT_LAYERS]; /* outermost first */
};

struct stack *
stack_new(const struct policy *const *layers, size_t count)
{
	struct stack *stack;

	assert(count <= LIMIT_LAYERS);
	stack = calloc(1, sizeof(*stack));
	if (stack == NULL)
		return NULL;
	stack->references = 1;
	for (size_t i = 0; i < count; i++)
		stack->layers[stack->count++] = policy_ref(layers[i]);
	return stack;
}

struct stack *
stack_ref(struct stack *stack)
{
	assert(stack->references > 0);
	stack->references++;
	return stack;
}

void
stack_unref(struct stack *stack)
{
	if (stack == NULL)
		return;
	assert(stack->references > 0);
	if (--stack->references > 0)
		return;
	for (size_t i = 0; i < stack->count; i++)
		policy_unref(stack->layers[i]);
	free(stack);
}

void
stack_observe(struct stack *stack)
{
	stack->observes = true;
}

bool
stack_observes(const struct stack *stack)
{
	return stack->observes;
}

size_t
stack_count(const struct stack *stack)
{
	return stack->count;
}

const struct policy *
stack_layer(const struct stack *stack, size_t index)
{
	assert(index < stack->count);
	return stack->layers[index];
}

/*
 * Of layers that answer alike, the outermost is named for what it refuses and
 * the innermost, which says most about the task, for what it allows.
 */
static bool
replaces(const struct verdict *standing, const struct verdict *verdict)
{
	if (verdict->kind == VERDICT_ALLOW)
		return standing->kind == VERDICT_ALLOW;
	return verdict->kind < standing->kind;
}

static void
decide(
    const struct stack *stack, const struct facts *facts, struct verdict *ret)
{
	struct verdict standing = { .kind = VERDICT_DENY,
		.reason = REASON_NO_RULE };
	const struct rule *openers[LIMIT_LAYERS];
	size_t opener_count = 0;
	unsigned unknown = 0;
	bool inspect = false;

	for (size_t i = 0; i < stack->count; i++) {
		struct verdict verdict;

		policy_decide(stack->layers[i], facts, NULL, NULL, &verdict);
		inspect = inspect || verdict.tls == VERDICT_TLS_INSPECT;
		unknown |= verdict.unknown;
		if (verdict.opener_count > 0)
			openers[opener_count++] = verdict.openers[0];
		if (i == 0 || replaces(&standing, &verdict))
			standing = verdict;
	}
	if (inspect)
		standing.tls = VERDICT_TLS_INSPECT;
	standing.unknown = unknown;
	standing.opener_count = 0;
	for (size_t i = 0; i < opener_count && standing.kind >= VERDICT_ASK;
	     i++)
		standing.openers[standing.opener_count++] = openers[i];
	*ret = standing;
}

/*
 * What would be refused goes on to where more of it is seen, or through.  A
 * person would be asked at the last stage only.
 */
static void
watch(const struct facts *facts, struct verdict *verdict)
{
	bool through = facts->last || facts->stage == STAGE_NAME;

	if (verdict->kind != VERDICT_DENY &&
	    (verdict->kind != VERDICT_ASK || !facts->last))
		return;
	verdict->would_deny = true;
	verdict->opener_count = 0;
	verdict->kind = through ? VERDICT_ALLOW : VERDICT_NEED_MORE;
	verdict->tls = through && facts->stage != STAGE_REQUEST
			   ? VERDICT_TLS_PASSTHROUGH
			   : VERDICT_TLS_INSPECT;
}

void
stack_decide(
    const struct stack *stack, const struct facts *facts, struct verdict *ret)
{
	decide(stack, facts, ret);
	if (stack->observes)
		watch(facts, ret);
}

/* What was known when the connection of a request was asked for. */
static struct facts
connection_of(const struct facts *facts)
{
	return (struct facts){ .stage = STAGE_CONNECT,
		.now_us = facts->now_us,
		.by_name = facts->by_name,
		.host = facts->host,
		.literal = facts->literal,
		.port = facts->port,
		.exe = facts->exe,
		.exe_sha256 = facts->exe_sha256 };
}

void
stack_settings(const struct stack *stack, const struct facts *facts,
    struct stack_settings *ret)
{
	struct stack_settings settings = { .private_addresses =
					       stack->count > 0 };
	struct facts asked = *facts;

	/* What is only observed has no rule of its own. */
	if (stack->observes)
		asked = connection_of(facts);
	for (size_t i = 0; i < stack->count; i++) {
		struct policy_opening opening = { .all_private = false };
		const struct rule *rule =
		    policy_opener(stack->layers[i], &asked, &opening);

		if (rule == NULL) {
			settings = (struct stack_settings){ 0 };
			break;
		}
		/* A literal is reached by a rule that names its address. */
		if (facts->by_name && !opening.all_private)
			settings.private_addresses = false;
		if (address_is_set(&rule->resolve))
			settings.resolve = &rule->resolve;
		if (rule->upstream_ca != NULL)
			settings.upstream_ca = rule->upstream_ca;
		if (opening.any_credential)
			settings.may_lend = true;
	}
	*ret = settings;
}

/* A name is no way round a rule that denies the address it leads to. */
static bool
denies_address(const struct stack *stack, const struct facts *literal)
{
	for (size_t i = 0; i < stack->count; i++) {
		struct verdict verdict;

		policy_decide(stack->layers[i], literal, NULL, NULL, &verdict);
		if (verdict.kind == VERDICT_DENY && verdict.rule != NULL)
			return true;
	}
	return false;
}

static bool
every_layer_opens(const struct stack *stack, const struct facts *facts,
    const struct address *address)
{
	for (size_t i = 0; i < stack->count; i++) {
		struct policy_opening opening = { .all_private = false };
		const struct rule *rule =
		    policy_opener(stack->layers[i], facts, &opening);

		if (rule == NULL)
			return false;
		/* A literal was found by a rule that names its address. */
		if (facts->by_name && !opening.all_private &&
		    !address_equals(&rule->resolve, address))
			return false;
	}
	return stack->count > 0;
}

bool
stack_may_dial(const struct stack *stack, const struct facts *facts,
    const struct address *address)
{
	struct facts literal = *facts;
	struct verdict verdict;

	literal.by_name = false;
	literal.literal = *address;
	stack_decide(stack, facts, &verdict);
	if (verdict.kind == VERDICT_DENY ||
	    (!stack->observes && denies_address(stack, &literal)))
		return false;
	switch (address_kind(address)) {
	case ADDRESS_PUBLIC:
		return true;
	case ADDRESS_UNSPECIFIED:
	case ADDRESS_KIND_COUNT:
		return false;
	case ADDRESS_METADATA:
	case ADDRESS_MULTICAST:
	case ADDRESS_BROADCAST:
		decide(stack, &literal, &verdict);
		return verdict.kind != VERDICT_DENY;
	case ADDRESS_LOOPBACK:
	case ADDRESS_PRIVATE:
	case ADDRESS_SHARED:
	case ADDRESS_LINK_LOCAL:
	case ADDRESS_BENCHMARK:
	case ADDRESS_DOCUMENTATION:
	case ADDRESS_RESERVED:
		break;
	}
	/* A request that is only observed has no rule of its own. */
	if (stack->observes) {
		literal = connection_of(facts);
		return every_layer_opens(stack, &literal, address);
	}
	return every_layer_opens(stack, facts, address);
}

static bool
add_port(uint16_t port, uint16_t *ret, size_t *count, size_t room)
{
	if (*count == room)
		return false;
	ret[(*count)++] = port;
	return true;
}

static void
mark_ports(const struct policy *policy, bool *named)
{
	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		const struct rule *rule = policy_rule(policy, i);

		for (size_t k = 0;
		     rule->action != RULE_DENY && k < rule->port_count; k++)
			memset(named + rule->ports[k].first, true,
			    (size_t)rule->ports[k].last - rule->ports[k].first +
				1);
	}
}

size_t
stack_ports(const struct stack *stack, uint16_t *ret, size_t room)
{
	bool named[UINT16_MAX + 1] = { false };
	size_t count = 0;

	for (size_t i = 0; i < stack->count; i++)
		mark_ports(stack->layers[i], named);
	for (size_t port = 1; port <= UINT16_MAX; port++)
		if (named[port] && !add_port((uint16_t)port, ret, &count, room))
			break;
	return count;
}
