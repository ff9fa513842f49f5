/*
 * setting - what of a rule leads the same request elsewhere, or sends more
 * along with it: "private", "resolve", "upstream_ca", "credential" with
 * "clear" and "echo".
 */
#ifndef POLICY_SETTING_H
#define POLICY_SETTING_H

#include "policy/precedence.h"
#include "policy/rule.h"

enum setting_kind {
	SETTING_PRIVATE,
	SETTING_RESOLVE,
	SETTING_TRUST,
	SETTING_CREDENTIAL,
	SETTING_COUNT
};

struct setting {
	bool (*equals)(const struct rule *x, const struct rule *y);
	enum setting_kind kind;
	bool shared; /* one layer that says it says it for all */
	bool by_request; /* else it is a connection's, whatever is asked */
	bool unset_is_least; /* who does not say it reaches no further */
};

/* By kind. */
extern const struct setting settings[SETTING_COUNT];

/* A rule that sets nothing, to compare others with. */
extern const struct rule setting_unset;

/* Whether one rule supplies the setting where another could, too. */
bool setting_speaks_before(
    const struct setting *setting, const struct precedence *at);

#endif
