#include "gateway/flow/lure.h"

#include "gateway/proto/needle.h"
#include "gateway/proto/websocket.h"
#include "gateway/run/lures.h"

#include <stdlib.h>

const struct order_lure *
lure_in_request(
    const struct lures *lures, const struct request *head, struct cursor path)
{
	const struct order_lure *found;

	if (lures_are_none(lures))
		return NULL;
	found = lures_find(lures, path);
	if (found == NULL)
		found = lures_find(lures, head->query);
	for (size_t i = 0; found == NULL && i < head->header.count; i++) {
		found = lures_find(lures, head->header.fields[i].value);
		if (found == NULL)
			found = lures_find_in_name(
			    lures, head->header.fields[i].name);
	}
	return found;
}

struct lure_watch {
	const struct lures *lures;
	struct needle *search;
	bool framed;
	struct websocket websocket;
};

struct lure_watch *
lure_watch_new(const struct lures *lures, bool websocket)
{
	struct lure_watch *watch = calloc(1, sizeof(*watch));

	if (watch == NULL)
		return NULL;
	watch->lures = lures;
	watch->framed = websocket;
	watch->search = lures_search(lures);
	if (watch->search != NULL)
		return watch;
	free(watch);
	return NULL;
}

void
lure_watch_free(struct lure_watch *watch)
{
	if (watch == NULL)
		return;
	needle_free(watch->search);
	free(watch);
}

/* Frame after frame; a message in several is one text. */
static bool
find_in_frames(
    struct lure_watch *watch, struct cursor bytes, struct needle_hit *ret)
{
	unsigned char clear[4096];
	struct cursor text;
	size_t length;

	while ((length = websocket_read(
		    &watch->websocket, &bytes, clear, sizeof(clear))) > 0) {
		text = cursor_of(clear, length);
		if (needle_find(watch->search, &text, ret))
			return true;
	}
	return false;
}

const struct order_lure *
lure_watch_see(struct lure_watch *watch, struct cursor bytes)
{
	struct needle_hit hit;
	bool found = watch->framed ? find_in_frames(watch, bytes, &hit)
				   : needle_find(watch->search, &bytes, &hit);

	return found ? lures_at(watch->lures, hit.which) : NULL;
}
