#include "policy/pieces.h"

#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

void
pieces_done(struct pieces *pieces)
{
	for (size_t i = 0; i < pieces->count; i++)
		free(pieces->list[i]);
	free(pieces->list);
	*pieces = (struct pieces){ .count = 0 };
}

int
pieces_add(struct pieces *pieces, const struct region *region,
    const struct piece *from)
{
	struct piece *piece;

	if (pieces->count == LIMIT_REGIONS)
		return STATUS_FULL;
	if (pieces->count == pieces->room) {
		size_t room = pieces->room == 0 ? 16 : 2 * pieces->room;
		struct piece **list =
		    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers */
		    reallocarray(pieces->list, room, sizeof(*list));

		if (list == NULL)
			return STATUS_NO_MEMORY;
		pieces->list = list;
		pieces->room = room;
	}
	piece = calloc(1, sizeof(*piece));
	if (piece == NULL)
		return STATUS_NO_MEMORY;
	piece->region.sort = region->sort;
	piece->region.count = region->count;
	memcpy(piece->region.conditions, region->conditions,
	    region->count * sizeof(region->conditions[0]));
	if (from != NULL) {
		memcpy(piece->openers, from->openers, sizeof(piece->openers));
		piece->layers = from->layers;
	}
	pieces->list[pieces->count++] = piece;
	return STATUS_OK;
}

/* What the next list is made of. */
struct making {
	struct pieces *to;
	const struct piece *from;
};

static int
on_piece(const struct region *region, void *arg)
{
	struct making *making = arg;

	return pieces_add(making->to, region, making->from);
}

int
pieces_subtract(struct pieces *pieces, const struct rule *rule)
{
	for (unsigned git = 0; git < 2; git++) {
		struct pieces next = { .count = 0 };
		const struct region_part part = { rule, git == 1 };
		int status = STATUS_OK;

		for (size_t i = 0; status == STATUS_OK && i < pieces->count;
		     i++) {
			const struct piece *from = pieces->list[i];
			struct making making = { &next, from };

			if (region_parts(from->region.sort, rule) <= git)
				status = pieces_add(&next, &from->region, from);
			else
				status = region_subtract(
				    &from->region, part, on_piece, &making);
		}
		if (status != STATUS_OK) {
			pieces_done(&next);
			return status;
		}
		pieces_done(pieces);
		*pieces = next;
	}
	return STATUS_OK;
}

static int
meet_one(const struct piece *from, const struct rule *rule, bool git,
    struct pieces *to)
{
	struct region *region = calloc(1, sizeof(*region));
	int status = STATUS_NO_MEMORY;

	if (region == NULL)
		return status;
	status = region_meet(
	    &from->region, (struct region_part){ rule, git }, region);
	if (status == STATUS_OK)
		status = pieces_add(to, region, from);
	free(region);
	return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

int
pieces_meet(
    const struct pieces *pieces, const struct rule *rule, struct pieces *to)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *from = pieces->list[i];
		size_t parts = region_parts(from->region.sort, rule);

		for (size_t git = 0; status == STATUS_OK && git < parts; git++)
			status = meet_one(from, rule, git == 1, to);
	}
	return status;
}

int
pieces_copy(const struct pieces *from, struct pieces *to)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < from->count; i++)
		status = pieces_add(to, &from->list[i]->region, from->list[i]);
	return status;
}
