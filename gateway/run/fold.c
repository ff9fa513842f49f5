#include "gateway/run/fold.h"

#include <stdlib.h>
#include <string.h>

/* Behind the kinds that are told apart: all others, as one. */
enum {
	OTHERS = LIMIT_FOLD_KINDS,
	SLOT_COUNT
};

struct slot {
	struct fold_sum sum; /* of a kind, with what was counted of it */
	int64_t began_us;
	unsigned rows; /* of their own, since then */
	bool used;
};

struct fold {
	struct slot slots[SLOT_COUNT];
	uint64_t counted; /* in all slots: often there is nothing to take */
};

struct fold *
fold_new(void)
{
	return calloc(1, sizeof(struct fold));
}

void
fold_free(struct fold *fold)
{
	free(fold);
}

static bool
is_over(const struct slot *slot, int64_t now_us)
{
	return now_us - slot->began_us >= LIMIT_FOLD_MS * INT64_C(1000);
}

static struct cursor
cut(struct cursor text)
{
	if (text.left > LIMIT_HOST)
		text.left = LIMIT_HOST;
	return text;
}

static void
copy(struct cursor text, char out[LIMIT_HOST + 1])
{
	text = cut(text);
	/* An empty cursor may point nowhere. */
	if (text.left > 0)
		memcpy(out, text.at, text.left);
	out[text.left] = '\0';
}

static bool
is_of_kind(const struct slot *slot, const struct fold_item *item)
{
	return slot->used && slot->sum.reason == item->reason &&
	       cursor_equals(cut(item->zone), slot->sum.zone);
}

/* Of this kind; or one that nobody needs any more; or the common one. */
static struct slot *
find_slot(struct fold *fold, const struct fold_item *item, int64_t now_us)
{
	struct slot *slot = &fold->slots[OTHERS];

	for (size_t i = 0; i < OTHERS; i++) {
		if (is_of_kind(&fold->slots[i], item))
			return &fold->slots[i];
		if (!fold->slots[i].used ||
		    (fold->slots[i].sum.count == 0 &&
			is_over(&fold->slots[i], now_us)))
			slot = &fold->slots[i];
	}
	/* What the common one is busy with goes on. */
	if (slot == &fold->slots[OTHERS] && slot->used &&
	    (slot->sum.count > 0 || !is_over(slot, now_us)))
		return slot;
	*slot = (struct slot){ .began_us = now_us, .used = true };
	if (slot != &fold->slots[OTHERS])
		copy(item->zone, slot->sum.zone);
	slot->sum.reason = item->reason;
	return slot;
}

bool
fold_admits(struct fold *fold, const struct fold_item *item, int64_t now_us)
{
	struct slot *slot = find_slot(fold, item, now_us);

	/* A kind that was quiet for so long begins anew. */
	if (slot->sum.count == 0 && is_over(slot, now_us)) {
		slot->began_us = now_us;
		slot->rows = 0;
	}
	if (slot->rows < LIMIT_FOLD_ROWS) {
		slot->rows++;
		return true;
	}
	copy(item->what, slot->sum.what);
	slot->sum.number = item->number;
	slot->sum.address = item->address;
	slot->sum.reason = item->reason;
	slot->sum.count++;
	fold->counted++;
	return false;
}

bool
fold_take(struct fold *fold, int64_t now_us, struct fold_sum *ret)
{
	for (size_t i = 0; fold->counted > 0 && i < SLOT_COUNT; i++) {
		struct slot *slot = &fold->slots[i];

		if (slot->sum.count == 0 || !is_over(slot, now_us))
			continue;
		*ret = slot->sum;
		fold->counted -= slot->sum.count;
		/* Who is as busy as this gets no row of its own again. */
		slot->sum.count = 0;
		slot->began_us = now_us;
		return true;
	}
	return false;
}
