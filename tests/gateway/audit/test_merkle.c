/* Trees of RFC 9162, against the RFC's own definition and verification. */
#include "gateway/audit/merkle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum {
	LEAVES_MAX = 40
};

struct stage {
	struct digester *digester;
	struct digest leaves[LEAVES_MAX];
};

static int
setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (stage == NULL)
		return -1;
	stage->digester = digester_new();
	assert_non_null(stage->digester);
	for (int i = 0; i < LEAVES_MAX; i++) {
		digester_begin(stage->digester, DIGEST_LEAF);
		digester_number(stage->digester, i);
		digester_end(stage->digester, &stage->leaves[i]);
	}
	*state = stage;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *stage = *state;

	digester_free(stage->digester);
	free(stage);
	return 0;
}

static struct digest
root_of(struct stage *stage, uint64_t size)
{
	struct merkle tree = { .size = 0 };
	struct digest root;

	for (uint64_t i = 0; i < size; i++)
		merkle_add(&tree, stage->digester, &stage->leaves[i]);
	merkle_root(&tree, stage->digester, &root);
	return root;
}

/* Section 2.1.3.2, word for word. */
static struct digest
verify(struct stage *stage, const struct merkle_path *path, uint64_t size)
{
	uint64_t fn = path->leaf, sn = size - 1;
	struct digest r = stage->leaves[path->leaf];

	for (size_t i = 0; i < path->count; i++) {
		const struct digest *p = merkle_path_step(path, i);

		assert_true(sn != 0);
		if ((fn & 1) != 0 || fn == sn) {
			digester_node(stage->digester, p, &r, &r);
			while ((fn & 1) == 0 && fn != 0) {
				fn >>= 1;
				sn >>= 1;
			}
		} else {
			digester_node(stage->digester, &r, p, &r);
		}
		fn >>= 1;
		sn >>= 1;
	}
	assert_true(sn == 0);
	return r;
}

static void
bytes_are_those_of_the_rfc(void **state)
{
	/* SHA-256 of one zero byte: the leaf of an empty entry. */
	static const char empty[] =
	    "\x6e\x34\x0b\x9c\xff\xb3\x7a\x98\x9c\xa5\x44\xe6\xbb\x78\x0a\x2c"
	    "\x78\x90\x1d\x3f\xb3\x37\x38\x76\x85\x11\xa3\x06\x17\xaf\xa0\x1d";
	struct stage *stage = *state;
	struct digest digest;

	digester_begin(stage->digester, DIGEST_LEAF);
	digester_end(stage->digester, &digest);
	assert_memory_equal(digest.bytes, empty, DIGEST_BYTES);
	assert_true(digester_is_well(stage->digester));
}

static void
root_of_three_is_the_pair_and_the_rest(void **state)
{
	struct stage *stage = *state;
	struct digest pair, root, three = root_of(stage, 3);

	digester_node(
	    stage->digester, &stage->leaves[0], &stage->leaves[1], &pair);
	digester_node(stage->digester, &pair, &stage->leaves[2], &root);
	assert_true(digest_equals(&root, &three));
}

static void
path_of_every_leaf_leads_to_the_root(void **state)
{
	struct stage *stage = *state;

	for (uint64_t size = 1; size <= LEAVES_MAX; size++) {
		struct digest root = root_of(stage, size);

		for (uint64_t leaf = 0; leaf < size; leaf++) {
			struct merkle_path path;
			struct digest found;

			merkle_path_begin(&path, leaf, size);
			for (uint64_t i = 0; i < size; i++)
				merkle_path_feed(
				    &path, stage->digester, &stage->leaves[i]);
			found = verify(stage, &path, size);
			assert_true(digest_equals(&found, &root));
		}
	}
}

static void
tree_goes_on_where_it_was_written(void **state)
{
	struct stage *stage = *state;
	unsigned char bytes[MERKLE_ROOM];
	struct digest found, root = root_of(stage, LEAVES_MAX);

	for (uint64_t size = 0; size < LEAVES_MAX; size++) {
		struct cursor_writer out =
		    cursor_writer_of(bytes, sizeof(bytes));
		struct merkle tree = { .size = 0 }, again;

		for (uint64_t i = 0; i < size; i++)
			merkle_add(&tree, stage->digester, &stage->leaves[i]);
		merkle_write(&tree, &out);
		assert_true(cursor_written(&out));
		assert_true(merkle_read(cursor_of(bytes, out.used), &again));
		assert_false(
		    merkle_read(cursor_of(bytes, out.used - 1), &again));
		for (uint64_t i = size; i < LEAVES_MAX; i++)
			merkle_add(&again, stage->digester, &stage->leaves[i]);
		merkle_root(&again, stage->digester, &found);
		assert_true(digest_equals(&found, &root));
	}
}

static void
long_values_are_hashed_like_short_ones(void **state)
{
	struct stage *stage = *state;
	unsigned char *bytes = calloc(1, 100000);
	struct cursor kept;
	struct digest whole, parts;

	assert_non_null(bytes);
	digester_begin(stage->digester, DIGEST_BLOCK);
	digester_put(stage->digester, bytes, 100000);
	assert_false(digester_bytes(stage->digester, &kept));
	digester_end(stage->digester, &whole);
	digester_begin(stage->digester, DIGEST_BLOCK);
	for (size_t i = 0; i < 100000; i += 1000)
		digester_put(stage->digester, bytes + i, 1000);
	digester_end(stage->digester, &parts);
	assert_true(digest_equals(&whole, &parts));
	free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_those_of_the_rfc),
		TEST(root_of_three_is_the_pair_and_the_rest),
		TEST(path_of_every_leaf_leads_to_the_root),
		TEST(tree_goes_on_where_it_was_written),
		TEST(long_values_are_hashed_like_short_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
