/*
 * catalog: any text is a credential file or a list of problems, and every
 * credential of a file that is read has all that its kind needs.
 */
#include "broker/catalog.h"
#include "broker/mint.h"
#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct problems problems = { .count = 0 };
	struct catalog *catalog = NULL;
	int status =
	    catalog_load(cursor_of(bytes, length), &catalog, &problems);

	assert((status == STATUS_OK) == !problems_any(&problems));
	assert((status == STATUS_OK) == (catalog != NULL));
	for (size_t i = 0; catalog != NULL && i < catalog_count(catalog); i++) {
		const struct credential *one = catalog_at(catalog, i);

		assert(catalog_find(catalog, one->name) == one);
		assert(!one->mint->has_hosts || one->scope.count > 0);
		assert(!one->mint->has_source || one->mint->may_lack_source ||
		       one->source.kind != SOURCE_NONE);
		assert(one->source.kind == SOURCE_NONE ||
		       one->source.name != NULL);
		(void)!catalog_need(catalog, one->name);
	}
	catalog_free(catalog);
	problems_done(&problems);
	return 0;
}
