/* Every body of the audit channel, by the number of its first byte. */
#include "schema/chore.h"
#include "schema/event.h"

#include "schema/status.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* What was read must read again from what is written of it. */
static void
fuzz_events(struct cursor body)
{
	unsigned char bytes[LIMIT_FRAME];
	struct event event, again;

	while (event_read(&body, &event) == STATUS_OK) {
		struct cursor_writer out =
		    cursor_writer_of(bytes, sizeof(bytes));
		struct cursor block;

		event_write(&event, &out);
		if (!cursor_written(&out))
			abort();
		block = cursor_of(bytes, out.used);
		if (event_read(&block, &again) != STATUS_OK ||
		    !cursor_is_empty(&block) || again.number != event.number ||
		    again.detail.left != event.detail.left ||
		    again.parent_seq != event.parent_seq)
			abort();
		(void)event_is_request(&event);
		(void)event_is_refusal(&event);
	}
}

static void
fuzz_run(struct cursor body)
{
	unsigned char bytes[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct event_run run;

	if (event_run_read(body, &run) != STATUS_OK)
		return;
	event_run_write(&run, &out);
	if (!cursor_written(&out) || out.used != body.left ||
	    memcmp(bytes, body.at, body.left) != 0)
		abort();
}

static void
fuzz_accepted(struct cursor body)
{
	struct event_accepted accepted;
	uint64_t number;
	int64_t seq;

	if (event_accepted_read(body, &accepted) != STATUS_OK)
		return;
	while (event_accepted_next(&accepted, &number, &seq))
		if (seq < 0)
			abort();
}

static void
fuzz_policy(struct cursor body)
{
	struct event_policy policy;

	(void)!event_policy_read(body, &policy);
}

static void
fuzz_end(struct cursor body)
{
	struct event_end end;

	if (event_end_read(body, &end) == STATUS_OK &&
	    (end.status < 0 || end.status > 255))
		abort();
}

static void
fuzz_small(struct cursor body)
{
	struct event_closed closed;
	enum event_role role;
	bool available;

	(void)!event_closed_read(body, &closed);
	(void)!event_producer_read(body, &role);
	(void)!event_state_read(body, &available);
}

static void
fuzz_chore(struct cursor body)
{
	unsigned char bytes[LIMIT_FRAME];
	struct cursor_writer out = cursor_writer_of(bytes, sizeof(bytes));
	struct problem problem;
	struct chore chore;

	(void)!chore_done_read(body, &problem);
	if (chore_read(body, &chore) != STATUS_OK)
		return;
	chore_write(&chore, &out);
	if (!cursor_written(&out) || out.used != body.left ||
	    memcmp(bytes, body.at, body.left) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static void (*const readers[])(struct cursor body) = { fuzz_events,
		fuzz_run, fuzz_accepted, fuzz_policy, fuzz_end, fuzz_small,
		fuzz_chore };
	struct cursor input = cursor_of(bytes, length);
	uint8_t which;

	if (cursor_u8(&input, &which))
		readers[which % (sizeof(readers) / sizeof(readers[0]))](input);
	return 0;
}
