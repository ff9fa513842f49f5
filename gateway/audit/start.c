#include "gateway/audit/start.h"

#include <string.h>

void
start_write(const struct start *start, struct cursor_writer *out)
{
	cursor_put_u64(out, (uint64_t)start->last_seq);
	cursor_put_u64(out, (uint64_t)start->last_us);
	cursor_put_u64(out, (uint64_t)start->checkpoint);
	cursor_put(out, start->hash.bytes, DIGEST_BYTES);
	merkle_write(&start->tree, out);
}

bool
start_read(struct cursor bytes, struct start *ret)
{
	struct start start = { .last_seq = 0 };
	uint64_t seq, us, checkpoint;

	if (!cursor_u64(&bytes, &seq) || !cursor_u64(&bytes, &us) ||
	    !cursor_u64(&bytes, &checkpoint) ||
	    !cursor_copy(&bytes, DIGEST_BYTES, start.hash.bytes) ||
	    !merkle_read(bytes, &start.tree) || seq > INT64_MAX ||
	    us > INT64_MAX || checkpoint > start.tree.size ||
	    start.tree.size > INT64_MAX)
		return false;
	start.last_seq = (int64_t)seq;
	start.last_us = (int64_t)us;
	start.checkpoint = (int64_t)checkpoint;
	*ret = start;
	return true;
}

bool
start_equals(const struct start *a, const struct start *b)
{
	unsigned char ours[START_ROOM], theirs[START_ROOM];
	struct cursor_writer left = cursor_writer_of(ours, sizeof(ours));
	struct cursor_writer right = cursor_writer_of(theirs, sizeof(theirs));

	start_write(a, &left);
	start_write(b, &right);
	return left.used == right.used && memcmp(ours, theirs, left.used) == 0;
}
