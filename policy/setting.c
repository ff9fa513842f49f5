#include "policy/setting.h"

#include <string.h>

bool
setting_speaks_before(
    const struct setting *setting, const struct precedence *at)
{
	return setting->by_request ? precedence_of_requests(at)
				   : precedence_of_connections(at);
}

static bool
private_equals(const struct rule *x, const struct rule *y)
{
	return x->private_addresses == y->private_addresses;
}

static bool
resolve_equals(const struct rule *x, const struct rule *y)
{
	return address_equals(&x->resolve, &y->resolve);
}

static bool
trust_equals(const struct rule *x, const struct rule *y)
{
	if (x->upstream_ca == NULL || y->upstream_ca == NULL)
		return x->upstream_ca == y->upstream_ca;
	return strcmp(x->upstream_ca, y->upstream_ca) == 0;
}

static bool
credential_equals(const struct rule *x, const struct rule *y)
{
	if (x->credential == NULL || y->credential == NULL)
		return x->credential == y->credential;
	return strcmp(x->credential, y->credential) == 0 &&
	       x->clear == y->clear && x->echo == y->echo;
}

const struct setting settings[SETTING_COUNT] = {
	[SETTING_PRIVATE] = { .kind = SETTING_PRIVATE,
	    .equals = private_equals },
	[SETTING_RESOLVE] = { .kind = SETTING_RESOLVE,
	    .equals = resolve_equals,
	    .shared = true },
	[SETTING_TRUST] = { .kind = SETTING_TRUST,
	    .equals = trust_equals,
	    .shared = true },
	[SETTING_CREDENTIAL] = { .kind = SETTING_CREDENTIAL,
	    .equals = credential_equals,
	    .shared = true,
	    .by_request = true,
	    .unset_is_least = true },
};

const struct rule setting_unset = { .action = RULE_ALLOW };
