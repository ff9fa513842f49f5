#include "gateway/run/lures.h"

#include "gateway/proto/needle.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

struct lures {
	struct order_lure *list; /* LIMIT_NEEDLES */
	size_t count;
	struct needles *needles, *names;
	struct needle *text, *name; /* for what is there as a whole */
};

struct lures *
lures_new(void)
{
	struct lures *lures = calloc(1, sizeof(*lures));

	if (lures == NULL)
		return NULL;
	lures->list = calloc(LIMIT_NEEDLES, sizeof(*lures->list));
	if (lures->list != NULL)
		return lures;
	free(lures);
	return NULL;
}

void
lures_free(struct lures *lures)
{
	if (lures == NULL)
		return;
	needle_free(lures->text);
	needle_free(lures->name);
	needles_free(lures->needles);
	needles_free(lures->names);
	free(lures->list);
	free(lures);
}

int
lures_add(struct lures *lures, const struct order_lure *lure)
{
	if (lures->count == LIMIT_NEEDLES || lures->needles != NULL)
		return STATUS_FULL;
	lures->list[lures->count++] = *lure;
	return STATUS_OK;
}

int
lures_settle(struct lures *lures)
{
	struct cursor list[LIMIT_NEEDLES];

	if (lures->count == 0)
		return STATUS_OK;
	for (size_t i = 0; i < lures->count; i++)
		list[i] = cursor_of_text(lures->list[i].value);
	lures->needles = needles_new(list, lures->count, false);
	lures->names = needles_new(list, lures->count, true);
	if (lures->needles == NULL || lures->names == NULL)
		return STATUS_NO_MEMORY;
	lures->text = needle_new(lures->needles);
	lures->name = needle_new(lures->names);
	if (lures->text == NULL || lures->name == NULL)
		return STATUS_NO_MEMORY;
	return STATUS_OK;
}

bool
lures_are_none(const struct lures *lures)
{
	return lures == NULL || lures->needles == NULL;
}

const struct order_lure *
lures_find(const struct lures *lures, struct cursor text)
{
	struct needle_hit hit;

	if (lures_are_none(lures) || !needle_is_in(lures->text, text, &hit))
		return NULL;
	return &lures->list[hit.which];
}

const struct order_lure *
lures_find_in_name(const struct lures *lures, struct cursor name)
{
	unsigned char joined[LIMIT_HOST];
	struct cursor_writer out = cursor_writer_of(joined, sizeof(joined));
	struct needle_hit hit;
	uint8_t byte;

	if (lures_are_none(lures))
		return NULL;
	if (needle_is_in(lures->name, name, &hit))
		return &lures->list[hit.which];
	while (cursor_u8(&name, &byte))
		if (byte != '.')
			cursor_put_u8(&out, byte);
	if (needle_is_in(lures->name, cursor_of(joined, out.used), &hit))
		return &lures->list[hit.which];
	return NULL;
}

struct needle *
lures_search(const struct lures *lures)
{
	return needle_new(lures->needles);
}

const struct order_lure *
lures_at(const struct lures *lures, size_t which)
{
	return &lures->list[which];
}

const struct order_lure *
lures_cloud(const struct lures *lures, enum order_cloud cloud, bool signs)
{
	if (lures == NULL)
		return NULL;
	for (size_t i = 0; i < lures->count; i++)
		if (lures->list[i].cloud == cloud &&
		    lures->list[i].signs == signs)
			return &lures->list[i];
	return NULL;
}

const struct order_lure *
lures_signing(const struct lures *lures, const char *credential)
{
	if (lures == NULL)
		return NULL;
	for (size_t i = 0; i < lures->count; i++)
		if (lures->list[i].signs &&
		    strcmp(lures->list[i].credential, credential) == 0)
			return &lures->list[i];
	return NULL;
}

size_t
lures_values(const struct lures *lures, const char *credential,
    struct cursor ret[LIMIT_NEEDLES])
{
	size_t count = 0;

	if (lures == NULL)
		return 0;
	for (size_t i = 0; i < lures->count; i++)
		if (!lures->list[i].signs &&
		    strcmp(lures->list[i].credential, credential) == 0)
			ret[count++] = cursor_of_text(lures->list[i].value);
	return count;
}
