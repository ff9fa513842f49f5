/*
 * bench_chain - what the proof of a row costs the audit's writer.
 *
 * bench_chain [ROWS]    rows in blocks of LIMIT_AUDIT_ROWS, all in memory:
 *                       the row's leaf and its share of the tree and block
 */
#include "gateway/audit/block.h"
#include "gateway/audit/leaf.h"
#include "gateway/audit/merkle.h"
#include "schema/event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t
processor_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* As long as a usual row: 320 bytes. */
static struct event
usual_event(void)
{
	struct event event = event_empty();

	event.kind = EVENT_HTTP_INTENT;
	event.verdict = EVENT_ALLOW;
	event.ts_us = 1700000000000000;
	event.flow_id = 1;
	event.req_id = cursor_of("0123456789abcdef", EVENT_REQ_ID);
	event.host = cursor_of_text("registry.pkgs.test");
	event.dst_ip = address_v4((const uint8_t[]){ 192, 0, 2, 7 });
	event.dst_port = 443;
	event.l7 = EVENT_L7_HTTP1;
	event.tls = 0x0304;
	event.verb = cursor_of_text("GET");
	event.object = cursor_of_text("/left-pad/-/left-pad-1.3.0.tgz");
	event.status = 200;
	event.bytes_out = 300;
	event.bytes_in = 70000;
	event.dur_us = 1500;
	return event;
}

static void
make_block(struct digester *digester, const struct event *event, int64_t first)
{
	const struct leaf_keys keys = { .sandbox = cursor_of_text("run-1"),
		.principal = cursor_of_text("tester"),
		.policy = cursor_of("01234567890123456789012345678901", 32),
		.rule = cursor_of_text("npm") };
	struct merkle rows = { .size = 0 };
	struct block block = { .first_seq = first,
		.last_seq = first + LIMIT_AUDIT_ROWS - 1 };
	struct digest leaf;

	for (int64_t seq = first; seq <= block.last_seq; seq++) {
		leaf_event(digester, seq, event, &keys);
		digester_end(digester, &leaf);
		merkle_add(&rows, digester, &leaf);
	}
	block_border(digester, &block, &leaf);
	merkle_add(&rows, digester, &leaf);
	merkle_root(&rows, digester, &block.root);
	block_digest(digester, &block, &block.hash);
}

int
main(int argc, char **argv)
{
	struct cursor digits = cursor_of_text(argc > 1 ? argv[1] : "500000");
	struct digester *digester = digester_new();
	struct event event = usual_event();
	uint64_t rows;
	int64_t began, took;

	if (digester == NULL || !cursor_decimal(&digits, INT32_MAX, &rows) ||
	    rows == 0)
		return EXIT_FAILURE;
	began = processor_ns();
	for (uint64_t row = 1; row <= rows; row += LIMIT_AUDIT_ROWS)
		make_block(digester, &event, (int64_t)row);
	took = processor_ns() - began;
	(void)printf("proof: %" PRIu64 " rows, %.3f us of processor a row\n",
	    rows, (double)took / (double)rows / 1000.0);
	if (!digester_is_well(digester))
		return EXIT_FAILURE;
	digester_free(digester);
	return EXIT_SUCCESS;
}
