#include "gateway/audit/merkle.h"

#include <assert.h>

static bool
has_level(const struct merkle *tree, unsigned level)
{
	return level < MERKLE_LEVELS && ((tree->size >> level) & 1) != 0;
}

void
merkle_add(
    struct merkle *tree, struct digester *digester, const struct digest *leaf)
{
	struct digest node = *leaf;
	unsigned level = 0;

	for (; has_level(tree, level); level++)
		digester_node(digester, &tree->whole[level], &node, &node);
	assert(level < MERKLE_LEVELS);
	tree->whole[level] = node;
	tree->size++;
}

void
merkle_root(
    const struct merkle *tree, struct digester *digester, struct digest *ret)
{
	struct digest root = { { 0 } };
	bool any = false;

	assert(tree->size > 0);
	/* What stands right is smaller, and deeper in the tree. */
	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!has_level(tree, level))
			continue;
		if (any)
			digester_node(
			    digester, &tree->whole[level], &root, &root);
		else
			root = tree->whole[level];
		any = true;
	}
	*ret = root;
}

void
merkle_write(const struct merkle *tree, struct cursor_writer *out)
{
	cursor_put_u64(out, tree->size);
	for (unsigned level = MERKLE_LEVELS; level > 0; level--)
		if (has_level(tree, level - 1))
			cursor_put(
			    out, tree->whole[level - 1].bytes, DIGEST_BYTES);
}

bool
merkle_read(struct cursor bytes, struct merkle *ret)
{
	struct merkle tree = { .size = 0 };

	if (!cursor_u64(&bytes, &tree.size))
		return false;
	for (unsigned level = MERKLE_LEVELS; level > 0; level--)
		if (has_level(&tree, level - 1) &&
		    !cursor_copy(
			&bytes, DIGEST_BYTES, tree.whole[level - 1].bytes))
			return false;
	if (!cursor_is_empty(&bytes))
		return false;
	*ret = tree;
	return true;
}

/* The largest power of two below count, which is at least 2. */
static uint64_t
left_part(uint64_t count)
{
	uint64_t part = 1;

	while (part < count - part)
		part *= 2;
	return part;
}

static void
add_sibling(struct merkle_path *path, uint64_t begin, uint64_t end)
{
	assert(path->count < MERKLE_LEVELS);
	path->siblings[path->count].begin = begin;
	path->siblings[path->count].end = end;
	path->count++;
}

void
merkle_path_begin(struct merkle_path *path, uint64_t leaf, uint64_t size)
{
	uint64_t begin = 0, end = size;

	assert(leaf < size);
	*path = (struct merkle_path){ .leaf = leaf };
	while (end - begin > 1) {
		uint64_t middle = begin + left_part(end - begin);

		if (leaf < middle) {
			add_sibling(path, middle, end);
			end = middle;
		} else {
			add_sibling(path, begin, middle);
			begin = middle;
		}
	}
}

void
merkle_path_between(struct merkle_path *path, uint64_t part, uint64_t size)
{
	uint64_t begin = 0, end = size;

	assert(part > 0 && part <= size);
	*path = (struct merkle_path){ .leaf = part };
	while (part < end) {
		uint64_t middle = begin + left_part(end - begin);

		if (part <= middle) {
			add_sibling(path, middle, end);
			end = middle;
		} else {
			add_sibling(path, begin, middle);
			begin = middle;
		}
	}
	/* A part that is one whole subtree is known to whoever has its root. */
	if (begin > 0)
		add_sibling(path, begin, end);
}

void
merkle_path_feed(struct merkle_path *path, struct digester *digester,
    const struct digest *leaf)
{
	uint64_t place = path->next++;

	for (size_t i = 0; i < path->count; i++) {
		if (place < path->siblings[i].begin ||
		    place >= path->siblings[i].end)
			continue;
		merkle_add(&path->part, digester, leaf);
		if (place + 1 < path->siblings[i].end)
			return;
		merkle_root(&path->part, digester, &path->siblings[i].root);
		path->part = (struct merkle){ .size = 0 };
		return;
	}
}

/* One whole subtree of 2^level leaves from begin on. */
static void
feed_whole(struct merkle_path *path, struct digester *digester, unsigned level,
    const struct digest *root)
{
	uint64_t begin = path->next, end = begin + (UINT64_C(1) << level);

	path->next = end;
	for (size_t i = 0; i < path->count; i++) {
		if (begin < path->siblings[i].begin ||
		    begin >= path->siblings[i].end)
			continue;
		/* Subtrees of a sibling come from the largest down. */
		assert(end <= path->siblings[i].end);
		path->part.whole[level] = *root;
		path->part.size += end - begin;
		if (end < path->siblings[i].end)
			return;
		merkle_root(&path->part, digester, &path->siblings[i].root);
		path->part = (struct merkle){ .size = 0 };
		return;
	}
}

void
merkle_path_skip(struct merkle_path *path, struct digester *digester,
    const struct merkle *tree)
{
	assert(path->next == 0 && tree->size <= path->leaf);
	for (unsigned level = MERKLE_LEVELS; level > 0; level--)
		if (has_level(tree, level - 1))
			feed_whole(
			    path, digester, level - 1, &tree->whole[level - 1]);
}

const struct digest *
merkle_path_step(const struct merkle_path *path, size_t place)
{
	return &path->siblings[path->count - 1 - place].root;
}
