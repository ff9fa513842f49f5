/*
 * stack - the layers put together: the strictest verdict stands.
 *
 * A request must be allowed by every layer; deny, then need_more, then ask,
 * then allow.  Inspect beats passthrough across layers, "private" and the
 * settings that open something must be said by every layer that allows.  The
 * limits of every layer hold; of those that name a credential the innermost
 * supplies it.
 * A stack without a layer denies everything.
 *
 * Immutable and counted: replace a run's stack by swapping the pointer.
 */
#ifndef POLICY_STACK_H
#define POLICY_STACK_H

#include "policy/decide.h"
#include "policy/facts.h"
#include "policy/policy.h"
#include "policy/verdict.h"
#include "schema/limits.h"

struct stack;

/* Takes a reference to each policy.  NULL when there is no memory. */
struct stack *stack_new(const struct policy *const *layers, size_t count)
    MUST_CHECK;
struct stack *stack_ref(struct stack *stack);
void stack_unref(struct stack *stack);

/*
 * From now on nothing is denied and nobody is asked: what would be is let
 * through, or has its requests looked at one by one, and its verdict says
 * would_deny.  Where connections may lead to is not widened: special
 * addresses still need their rules.  Before the stack is shared.
 */
void stack_observe(struct stack *stack);
bool stack_observes(const struct stack *stack);

size_t stack_count(const struct stack *stack);
const struct policy *stack_layer(const struct stack *stack, size_t index);

/* Fills *ret and cannot fail.  ret borrows from the stack. */
void stack_decide(
    const struct stack *stack, const struct facts *facts, struct verdict *ret);

/*
 * How to open the connection of an attempt that may be allowed.  In each
 * layer the rules are asked that match or, before the last stage, still may;
 * of these the ones with the most specific host.  Special addresses: every one
 * of them in every layer must say private, or name the address.  The address
 * to use instead of a resolver, the authority to trust: the innermost layer's
 * most specific rule.  NULL or false where none says.
 */
struct stack_settings {
	bool private_addresses;
	const struct address *resolve;
	const char *upstream_ca; /* PEM text */
	bool may_lend; /* a request over it may be lent a credential */
};
void stack_settings(const struct stack *stack, const struct facts *facts,
    struct stack_settings *ret);

/*
 * Whether a literal or resolved address may be dialled for these facts.
 *
 * Special ones need "private", "resolve" to that address, or an address rule,
 * in every layer; metadata, multicast and broadcast need the address rule;
 * unspecified ones are never dialled; an address that a rule denies is not
 * reached by name either.  Ask when a connection is opened and, with the
 * address of its other side, for each request that goes over it: another
 * rule may allow the request than the one that opened the connection.
 */
bool stack_may_dial(const struct stack *stack, const struct facts *facts,
    const struct address *address);

/* All ports some rule names, sorted, for listeners without nf_tables. */
size_t stack_ports(const struct stack *stack, uint16_t *ret, size_t room);

#endif
