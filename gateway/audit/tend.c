#include "gateway/audit/tend.h"

#include "gateway/audit/rollup.h"
#include "gateway/audit/seal.h"
#include "gateway/audit/shelf.h"
#include "schema/status.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* One segment; its state stays "sealing" until all of it is done. */
static int
seal_segment(const char *audit, struct rollup *rollup, int64_t number,
    struct problem *reterr)
{
	char path[SHELF_PATH];
	uint8_t sha256[32];
	int64_t bytes;
	int status = shelf_path(audit, number, path, reterr);

	if (status == STATUS_OK)
		status = seal(path, sha256, &bytes, reterr);
	if (status == STATUS_OK)
		status =
		    rollup_set_sealed(rollup, number, sha256, bytes, reterr);
	return status;
}

int
tend(const char *audit, struct problem *reterr)
{
	struct rollup *rollup = NULL;
	int64_t number;
	int status = rollup_open(audit, &rollup, reterr);

	if (status != STATUS_OK)
		return status;
	status = rollup_absorb(rollup, reterr);
	while (status == STATUS_OK &&
	       rollup_next_to_seal(rollup, &number) == STATUS_OK)
		status = seal_segment(audit, rollup, number, reterr);
	rollup_close(rollup);
	return status == STATUS_AGAIN ? STATUS_OK : status;
}

int
tend_remove(const char *audit, int64_t segment, struct problem *reterr)
{
	static const char *const endings[] = { "-wal", "-shm", "-journal", "" };
	char path[SHELF_PATH], name[SHELF_PATH + 16];
	struct rollup *rollup = NULL;
	int status = shelf_path(audit, segment, path, reterr);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		int used =
		    snprintf(name, sizeof(name), "%s%s", path, endings[i]);

		if (status != STATUS_OK)
			return status;
		if (used < 0 || (size_t)used >= sizeof(name) ||
		    (unlink(name) != 0 && errno != ENOENT))
			status =
			    problem_errno(reterr, "cannot remove %s", name);
	}
	if (status == STATUS_OK)
		status = shelf_sync(audit, reterr);
	if (status == STATUS_OK)
		status = rollup_open(audit, &rollup, reterr);
	if (status == STATUS_OK)
		status = rollup_set_pruned(rollup, segment, reterr);
	rollup_close(rollup);
	return status;
}
