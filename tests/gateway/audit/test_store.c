/* Events to rows, in this process; test_writer has the process around it. */
#include "gateway/audit/store.h"

#include "schema/status.h"
#include "tests/gateway/audit/parent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stage {
	struct parent parent; /* for its folder */
	struct store *store;
	struct store_run run;
};

static void
open_store(struct stage *stage)
{
	struct problem problem;

	if (store_open(stage->parent.database, LIMIT_SEGMENT_ROWS,
		&stage->store, &problem) != STATUS_OK)
		fail_msg("%s", problem.text);
}

static int
setup(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));

	if (stage == NULL)
		return -1;
	parent_begin(&stage->parent);
	open_store(stage);
	memcpy(stage->run.about.uid, "run-1", 6);
	memcpy(stage->run.about.principal, "tester", 7);
	assert_int_equal(store_begin(stage->store, true), STATUS_OK);
	assert_int_equal(
	    store_add_run(stage->store, &stage->run, 1), STATUS_OK);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	*state = stage;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *stage = *state;

	store_close(stage->store);
	parent_end(&stage->parent);
	free(stage);
	return 0;
}

static int64_t
insert(struct stage *stage, const struct event *event)
{
	int64_t seq = 0;

	assert_int_equal(
	    store_insert(stage->store, &stage->run, event, &seq), STATUS_OK);
	return seq;
}

static void
rolled_back_rows_give_their_numbers_back(void **state)
{
	struct stage *stage = *state;
	struct event event = parent_event(1, EVENT_NO_WAIT);

	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	assert_int_equal(insert(stage, &event), 1);
	event.host = cursor_of_text("other.test");
	assert_int_equal(insert(stage, &event), 2);
	store_rollback(stage->store);
	assert_false(store_owns(stage->store, &stage->run, 1));
	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	/* Its host must be inserted again, not remembered. */
	assert_int_equal(insert(stage, &event), 1);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	assert_true(store_owns(stage->store, &stage->run, 1));
	assert_false(store_owns(stage->store, &stage->run, 2));
	assert_int_equal(
	    parent_number(&stage->parent,
		"SELECT count(*) FROM v_event WHERE host = 'other.test'"),
	    1);
	assert_int_equal(
	    parent_number(&stage->parent, "SELECT count(*) FROM dst"), 1);
}

static void
nothing_is_committed_into_a_file_that_was_removed(void **state)
{
	struct stage *stage = *state;
	struct event event = parent_event(1, EVENT_NO_WAIT);

	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	assert_int_equal(insert(stage, &event), 1);
	assert_int_equal(unlink(stage->parent.database), 0);
	assert_int_equal(store_commit(stage->store), STATUS_SYSTEM);
	store_rollback(stage->store);
	assert_false(store_owns(stage->store, &stage->run, 1));
}

static void
row_belongs_to_its_own_run_only_also_after_a_restart(void **state)
{
	struct stage *stage = *state;
	struct event event = parent_event(1, EVENT_NO_WAIT);
	struct store_run other = { .id = stage->run.id + 1 };
	int64_t seq;

	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	seq = insert(stage, &event);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	assert_true(store_owns(stage->store, &stage->run, seq));
	assert_false(store_owns(stage->store, &other, seq));
	store_close(stage->store);
	open_store(stage);
	assert_true(store_owns(stage->store, &stage->run, seq));
	assert_false(store_owns(stage->store, &other, seq));
	assert_false(store_owns(stage->store, &stage->run, -1));
	assert_false(store_owns(stage->store, &stage->run, seq + 1));
	assert_int_equal(
	    store_check_run(stage->store, "run-1"), STATUS_REFUSED);
	assert_int_equal(store_check_run(stage->store, "run-2"), STATUS_OK);
}

static void
rule_of_a_policy_that_was_never_loaded_names_none(void **state)
{
	struct stage *stage = *state;
	struct event event = parent_event(1, EVENT_NO_WAIT);

	event.rule = cursor_of_text("npm");
	event.policy = cursor_of("01234567890123456789012345678901", 32);
	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	(void)insert(stage, &event);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	assert_int_equal(parent_number(&stage->parent,
			     "SELECT count(*) FROM event WHERE rule_id IS NULL "
			     "AND policy_id IS NULL"),
	    1);
}

static void
literal_address_is_its_own_domain(void **state)
{
	struct stage *stage = *state;
	struct event event = parent_event(1, EVENT_NO_WAIT);

	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	(void)insert(stage, &event);
	event.host = cursor_of_text("192.0.2.7");
	event.dst_ip = address_v4((const uint8_t[]){ 192, 0, 2, 7 });
	(void)insert(stage, &event);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	assert_int_equal(
	    parent_number(&stage->parent,
		"SELECT count(*) FROM dst WHERE (host, reg_domain, "
		"is_ip) IN (VALUES ('192.0.2.7', '192.0.2.7', 1), "
		"('registry.pkgs.test', 'pkgs.test', 0))"),
	    2);
	assert_int_equal(
	    parent_number(&stage->parent,
		"SELECT count(*) FROM event WHERE dst_ip = x'c0000207'"),
	    1);
}

static void
what_is_not_known_is_null(void **state)
{
	struct stage *stage = *state;
	struct event event = event_empty();

	event.kind = EVENT_DNS;
	assert_int_equal(store_begin(stage->store, false), STATUS_OK);
	(void)insert(stage, &event);
	assert_int_equal(store_commit(stage->store), STATUS_OK);
	assert_int_equal(
	    parent_number(&stage->parent,
		"SELECT count(*) FROM event WHERE coalesce(flow_id, req_id, "
		"parent_seq, dst_id, dst_ip, dst_port, l7, tls, verb, object, "
		"status, cred_id, bytes_out, bytes_in, dur_us, detail) IS "
		"NULL"),
	    1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rolled_back_rows_give_their_numbers_back),
		TEST(nothing_is_committed_into_a_file_that_was_removed),
		TEST(row_belongs_to_its_own_run_only_also_after_a_restart),
		TEST(rule_of_a_policy_that_was_never_loaded_names_none),
		TEST(literal_address_is_its_own_domain),
		TEST(what_is_not_known_is_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
