#include "broker/attenuate.h"

#include "broker/remit.h"

#include <assert.h>
#include <string.h>

/* Another machine's clock may be that much behind ours (broker.md 5.3). */
#define EARLY_S 10

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static bool
cut_time(const struct token *parent, const struct attenuate_wish *wish,
    struct token *child)
{
	uint32_t life_s = wish->most_life_s;

	if (wish->life_s != 0 && wish->life_s < life_s)
		life_s = wish->life_s;
	child->issued_s = wish->now_s;
	child->starts_s = later(parent->starts_s, wish->now_s - EARLY_S);
	child->expires_s = earlier(parent->expires_s, wish->now_s + life_s);
	if (wish->ends_s != 0)
		child->expires_s = earlier(child->expires_s, wish->ends_s);
	return child->expires_s > wish->now_s &&
	       child->expires_s > child->starts_s;
}

static void
cut_scope(const struct token *parent, const struct attenuate_wish *wish,
    struct token *child, char dropped[LIMIT_SCOPE + 1])
{
	char most[LIMIT_SCOPE + 1];

	remit_cut(parent->scope, wish->most_scope, most, NULL);
	remit_cut(wish->scope[0] == '\0' ? most : wish->scope, most,
	    child->scope, dropped);
}

/* The one who acts now stands before those who acted. */
static bool
put_actor(const struct token *parent, const char *actor, struct token *child)
{
	if (parent->actors == LIMIT_TOKEN_DEPTH ||
	    strlen(actor) > LIMIT_PRINCIPAL)
		return false;
	memcpy(child->actor[1], parent->actor[0],
	    parent->actors * sizeof(child->actor[0]));
	memcpy(child->actor[0], actor, strlen(actor) + 1);
	child->actors = parent->actors + 1;
	return true;
}

enum attenuate_end
attenuate(const struct token *parent, const struct attenuate_wish *wish,
    struct token *ret, char ret_dropped[LIMIT_SCOPE + 1])
{
	struct token child = *parent;
	char dropped[LIMIT_SCOPE + 1];

	assert(strlen(wish->client) < sizeof(child.client));
	if (wish->audience[0] != '\0' &&
	    strcmp(wish->audience, parent->audience) != 0)
		return ATTENUATE_AUDIENCE;
	if (parent->depth >= LIMIT_TOKEN_DEPTH)
		return ATTENUATE_DEPTH;
	child.depth = (uint8_t)(parent->depth + 1);
	child.id[0] = '\0';
	memcpy(child.parent, parent->id, sizeof(child.parent));
	memcpy(child.client, wish->client, strlen(wish->client) + 1);
	if (wish->actor != NULL && !put_actor(parent, wish->actor, &child))
		return ATTENUATE_DEPTH;
	cut_scope(parent, wish, &child, dropped);
	if (child.scope[0] == '\0')
		return ATTENUATE_SCOPE;
	if (!cut_time(parent, wish, &child))
		return ATTENUATE_OVER;
	*ret = child;
	memcpy(ret_dropped, dropped, sizeof(dropped));
	return ATTENUATE_WELL;
}

bool
attenuate_allows(const struct token *token, const struct attenuate_use *use)
{
	return remit_has(token->scope, use->word) &&
	       strcmp(token->audience, use->audience) == 0 &&
	       strcmp(token->run, use->run) == 0 &&
	       token->starts_s <= use->now_s && use->now_s < token->expires_s;
}
