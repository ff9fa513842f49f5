/*
 * region - a set of attempts, exact in everything that a rule can ask of one.
 *
 * The attempts of one sort that a list of conditions leaves.  A condition is
 * added only where it leaves something and takes something, so no region is
 * empty, and its list is as short as it can be.  Rules are borrowed.
 */
#ifndef POLICY_REGION_H
#define POLICY_REGION_H

#include "policy/condition.h"
#include "schema/limits.h"

/* What can be asked once all is known. */
enum region_sort {
	REGION_HTTP,
	REGION_TLS, /* whose inside nobody looks into */
	REGION_SSH,
	REGION_TCP,
	REGION_UDP,
	REGION_SORT_COUNT
};

/*
 * A rule for reading has two parts: the methods that read, and git's fetch,
 * which is a POST to some paths.
 */
struct region_part {
	const struct rule *rule;
	bool git;
};

struct region {
	enum region_sort sort;
	size_t count;
	struct condition conditions[LIMIT_REGION_CONDITIONS];
};

/* How many parts a rule has in attempts of this sort: 0, 1 or 2. */
size_t region_parts(enum region_sort sort, const struct rule *rule);

/*
 * All attempts of a part.  STATUS_NOT_FOUND when there are none, STATUS_FULL
 * when nobody can tell, STATUS_NO_MEMORY; *ret is then of no use.
 */
int region_of(enum region_sort sort, struct region_part part,
    struct region *ret) MUST_CHECK;

/*
 * What of a region is in a part, too.  STATUS_NOT_FOUND when nothing is,
 * STATUS_FULL when nobody can tell, STATUS_NO_MEMORY.
 */
int region_meet(const struct region *region, struct region_part part,
    struct region *ret) MUST_CHECK;

/* Told of each piece of a region; STATUS_OK, or what ends the cutting. */
typedef int region_piece(const struct region *piece, void *arg);

/* What of a region is not in a part, in pieces that do not overlap. */
int region_subtract(const struct region *region, struct region_part part,
    region_piece *piece, void *arg) MUST_CHECK;

/* Drops what other conditions say already; for those who read them. */
void region_simplify(struct region *region);

/*
 * Writes one attempt of the region as a question in words, to be read by
 * question_read() as of now_us.  STATUS_NOT_FOUND when it is empty,
 * STATUS_FULL when nobody can tell or out has no room, STATUS_NO_MEMORY.
 */
int region_witness(const struct region *region, int64_t now_us,
    struct cursor_writer *out) MUST_CHECK;

const char *region_sort_name(enum region_sort sort);

#endif
