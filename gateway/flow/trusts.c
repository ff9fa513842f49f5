#include "gateway/flow/trusts.h"

#include "gateway/tls/outside.h"
#include "schema/problem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct trust {
	SLIST_ENTRY(trust) next;
	struct outside *outside;
	char *pem; /* NULL: the machine's roots */
};

struct trusts {
	SLIST_HEAD(, trust) list;
	struct cursor roots;
	struct pool *pool;
};

struct trusts *
trusts_new(struct cursor roots, struct pool *pool)
{
	struct trusts *trusts = calloc(1, sizeof(*trusts));

	if (trusts == NULL)
		return NULL;
	SLIST_INIT(&trusts->list);
	trusts->roots = roots;
	trusts->pool = pool;
	return trusts;
}

static void
trust_free(struct trust *trust)
{
	outside_free(trust->outside);
	free(trust->pem);
	free(trust);
}

void
trusts_free(struct trusts *trusts)
{
	struct trust *trust;

	if (trusts == NULL)
		return;
	while ((trust = SLIST_FIRST(&trusts->list)) != NULL) {
		SLIST_REMOVE_HEAD(&trusts->list, next);
		trust_free(trust);
	}
	free(trusts);
}

static bool
serves(const struct trust *trust, const char *pem)
{
	if (trust->pem == NULL || pem == NULL)
		return trust->pem == pem;
	return strcmp(trust->pem, pem) == 0;
}

static struct trust *
make(struct trusts *trusts, const char *pem, struct problem *reterr)
{
	struct trust *trust = calloc(1, sizeof(*trust));
	struct cursor roots = trusts->roots;

	if (trust == NULL)
		goto fail;
	if (pem != NULL) {
		trust->pem = strdup(pem);
		if (trust->pem == NULL)
			goto fail;
		roots = cursor_of_text(trust->pem);
	}
	trust->outside = outside_new(roots, trusts->pool, reterr);
	if (trust->outside != NULL)
		return trust;
	trust_free(trust);
	return NULL;
fail:
	if (trust != NULL)
		trust_free(trust);
	(void)problem_set(reterr, "there is no memory");
	return NULL;
}

struct outside *
trusts_get(struct trusts *trusts, const char *pem, struct problem *reterr)
{
	struct trust *trust;

	SLIST_FOREACH(trust, &trusts->list, next)
		if (serves(trust, pem))
			return trust->outside;
	trust = make(trusts, pem, reterr);
	if (trust == NULL)
		return NULL;
	SLIST_INSERT_HEAD(&trusts->list, trust, next);
	return trust->outside;
}
