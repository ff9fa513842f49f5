/*
 * lookalike - placeholders of the right shape, random for each run.
 *
 * A program that wants a key before it starts finds one in the variable that
 * the credential file names: of the shape that it expects, and worth nothing.
 * The command makes them, since the sandbox's variables are fixed before there
 * is a broker; what is wrong in the file the broker tells.
 */
#ifndef GATEWAY_CLI_LOOKALIKE_H
#define GATEWAY_CLI_LOOKALIKE_H

#include "gateway/cli/needs.h"
#include "gateway/cli/variables.h"
#include "schema/order.h"

struct problem;

struct lookalikes {
	struct order_lure *list; /* LIMIT_NEEDLES */
	size_t count;
};

/*
 * Makes one for each credential that is needed and has a "placeholder" in the
 * file, and sets its variable unless somebody has set it already.
 */
int lookalikes_make(const char *file, const struct needs *needs,
    struct variables *variables, struct lookalikes *ret, struct problem *reterr)
    MUST_CHECK;
void lookalikes_done(struct lookalikes *lookalikes);

#endif
