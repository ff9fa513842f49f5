/*
 * compare: two documents, split by a NUL; every witness must be answered as
 * is said, and a policy must be contained in itself.
 */
#include "policy/compare.h"

#include "policy/document.h"
#include "policy/stack.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* More rules than these cost time and say no more. */
#define RULES_MAX 6

static struct stack *
load(struct cursor text)
{
	struct problems problems = { 0 };
	struct policy *policy = NULL;
	struct stack *stack = NULL;

	if (document_load(text, "fuzz", &policy, &problems) == STATUS_OK &&
	    policy_rule_count(policy) <= RULES_MAX)
		stack = stack_new((const struct policy *const *)&policy, 1);
	policy_unref(policy);
	problems_done(&problems);
	return stack;
}

/* A name with "xn--" in it may be found and yet be no name in a question. */
static bool
on_difference(const struct compare_difference *difference, void *arg)
{
	(void)arg;
	if ((difference->kind == COMPARE_ALLOWS ||
		difference->kind == COMPARE_ASKS) &&
	    !difference->confirmed && difference->witness != NULL &&
	    strstr(difference->witness, "xn--") == NULL)
		abort();
	return true;
}

static bool
on_own_difference(const struct compare_difference *difference, void *arg)
{
	(void)arg;
	if (difference->kind != COMPARE_UNDECIDED)
		abort();
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor b = cursor_of(data, size), a;
	struct stack *x, *y;

	if (size > 2000 || !cursor_until(&b, 0, &a))
		return 0;
	x = load(a);
	y = load(b);
	if (x != NULL && y != NULL &&
	    (compare_stacks(x, y, 0, on_difference, NULL) != STATUS_OK ||
		compare_stacks(x, x, 0, on_own_difference, NULL) != STATUS_OK))
		abort();
	stack_unref(x);
	stack_unref(y);
	return 0;
}
