#include "gateway/cli/ends.h"

#include "gateway/proc/fdpass.h"
#include "schema/status.h"

#include <unistd.h>

/* The first end does not block. */
static int
make(int *ret_first, int *ret_second)
{
	int pair[2], status = fdpass_pair(pair);

	if (status != STATUS_OK)
		return status;
	*ret_first = pair[0];
	*ret_second = pair[1];
	return STATUS_OK;
}

int
ends_make(bool broker, bool recorder, struct ends *ret)
{
	int status;

	*ret = (struct ends){ -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
		-1, -1 };
	status = make(&ret->ours, &ret->gateway);
	if (status == STATUS_OK)
		status = make(&ret->handoff, &ret->launcher);
	if (status == STATUS_OK)
		status = make(&ret->producer, &ret->writer);
	if (status == STATUS_OK)
		status = make(&ret->reins, &ret->bit);
	if (status == STATUS_OK && recorder)
		status = make(&ret->recorder, &ret->reader);
	if (status == STATUS_OK && broker)
		status = make(&ret->borrower, &ret->lender);
	if (status == STATUS_OK && broker)
		status = make(&ret->witness, &ret->notary);
	return status;
}

void
ends_done(struct ends *ends)
{
	const int all[] = { ends->ours, ends->gateway, ends->launcher,
		ends->handoff, ends->producer, ends->writer, ends->reins,
		ends->bit, ends->borrower, ends->lender, ends->witness,
		ends->notary, ends->recorder, ends->reader };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i] >= 0)
			(void)close(all[i]);
}
