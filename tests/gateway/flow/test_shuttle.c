/* Datagrams of one flow, with a test as the world and as the policy. */
#include "gateway/flow/shuttle.h"

#include "gateway/flow/flow.h"
#include "gateway/flow/forge.h"
#include "gateway/net/pool.h"
#include "gateway/run/run.h"
#include "tests/gateway/net/peer.h"

#include <stdlib.h>
#include <sys/time.h>

#define IDLE_MS 50

struct scene {
	struct run run;
	struct plane plane;
	struct forge forge;
	struct flow *flow;
	int world;
	bool closed;
};

static void
nothing_enter(struct flow *flow)
{
	(void)flow;
}

/* The flow's own forge is the scene's: it stands at a known place in it. */
static void
closing_enter(struct flow *flow)
{
	struct scene *scene =
	    (struct scene *)((char *)unconst(flow->shuttle->forge) -
			     offsetof(struct scene, forge));

	scene->closed = true;
}

static const struct flow_row rows[FLOW_STATE_COUNT] = {
	[FLOW_ACCEPTED] = { .name = "accepted",
	    .enter = nothing_enter,
	    .followers = 1U << FLOW_TUNNELING },
	[FLOW_TUNNELING] = { .name = "tunneling",
	    .enter = shuttle_enter,
	    .leave = shuttle_leave,
	    .deadline_ms = IDLE_MS,
	    .late = FLOW_CLOSING,
	    .followers = 1U << FLOW_CLOSING },
	[FLOW_CLOSING] = { .name = "closing", .enter = closing_enter },
};

static int
setup(void **state)
{
	static const struct endpoint ends[2] = { { { 4, { 198, 18, 1, 0 } },
						     123 },
		{ { 4, { 192, 0, 0, 2 } }, 40000 } };
	struct scene *scene = calloc(1, sizeof(*scene));
	struct endpoint world;

	assert_non_null(scene);
	scene->plane.loop = loop_new();
	scene->plane.run = &scene->run;
	scene->plane.buffers = pool_new(LIMIT_RELAY_BYTES, 1);
	scene->forge = (struct forge){ -1, -1 };
	scene->world = peer_bound(SOCK_DGRAM, "127.0.0.1", 0);
	world = peer_own_end(scene->world);
	scene->flow = flow_new(&scene->plane, rows, -1, &ends[0], &ends[1]);
	assert_non_null(scene->flow);
	scene->flow->outside_fd = peer_connected(SOCK_DGRAM, &world);
	scene->flow->shuttle = shuttle_new(scene->flow, &scene->forge);
	assert_non_null(scene->flow->shuttle);
	*state = scene;
	return 0;
}

static int
teardown(void **state)
{
	struct scene *scene = *state;
	struct shuttle *shuttle = scene->flow->shuttle;

	flow_free(scene->flow);
	shuttle_free(shuttle);
	pool_free(scene->plane.buffers);
	loop_free(scene->plane.loop);
	(void)close(scene->world);
	free(scene);
	return 0;
}

static void
take(struct scene *scene, const char *text)
{
	shuttle_take(scene->flow->shuttle, cursor_of_text(text));
}

/* What came outside, as text; "" when nothing is there. */
static const char *
hear(struct scene *scene)
{
	static char text[256];
	ssize_t got = recv(scene->world, text, sizeof(text) - 1, MSG_DONTWAIT);

	text[got < 0 ? 0 : got] = '\0';
	return text;
}

static void
what_came_early_is_passed_on_in_order_and_whole(void **state)
{
	struct scene *scene = *state;

	take(scene, "one");
	take(scene, "");
	take(scene, "three");
	assert_string_equal(hear(scene), "");
	flow_enter(scene->flow, FLOW_TUNNELING);
	assert_string_equal(hear(scene), "one");
	assert_int_equal(recv(scene->world, NULL, 0, MSG_DONTWAIT), 0);
	assert_string_equal(hear(scene), "three");
	take(scene, "four");
	assert_string_equal(hear(scene), "four");
	assert_int_equal(scene->flow->bytes_out, 12);
}

static void
what_comes_early_in_great_number_is_lost(void **state)
{
	struct scene *scene = *state;
	unsigned heard = 0;

	for (unsigned i = 0; i < LIMIT_EARLY_DATAGRAMS + 5; i++)
		take(scene, "x");
	flow_enter(scene->flow, FLOW_TUNNELING);
	while (hear(scene)[0] != '\0')
		heard++;
	assert_int_equal(heard, LIMIT_EARLY_DATAGRAMS);
}

static void
what_comes_early_in_great_size_is_lost(void **state)
{
	static unsigned char large[LIMIT_DATAGRAM];
	struct scene *scene = *state;

	for (int i = 0; i < 3; i++)
		shuttle_take(scene->flow->shuttle,
		    cursor_of(large, sizeof(large) / 2 + 100));
	/* What is small still has room. */
	take(scene, "y");
	assert_int_equal(scene->flow->shuttle->early_count, 2);
	assert_true(scene->flow->shuttle->early_bytes <= LIMIT_EARLY_BYTES);
}

static void
flow_is_over_when_nothing_came_for_a_while(void **state)
{
	struct scene *scene = *state;
	struct event_base *base = loop_base(scene->plane.loop);

	flow_enter(scene->flow, FLOW_TUNNELING);
	peer_run_until(base, &scene->closed);
	assert_int_equal(scene->flow->reason, REASON_NONE);
}

/* By what is left of the time, so that nothing is waited for. */
static int64_t
left_ms(const struct flow *flow)
{
	struct timeval at, now;

	assert_true(event_pending(flow->deadline, EV_TIMEOUT, &at));
	assert_int_equal(gettimeofday(&now, NULL), 0);
	return (at.tv_sec - now.tv_sec) * 1000 +
	       (at.tv_usec - now.tv_usec) / 1000;
}

static void
each_datagram_of_either_side_gives_it_more_time(void **state)
{
	struct scene *scene = *state;
	struct event_base *base = loop_base(scene->plane.loop);
	struct endpoint end = peer_own_end(scene->flow->outside_fd);
	struct sockaddr_storage to;
	socklen_t length = endpoint_to_sockaddr(&end, &to);

	flow_enter(scene->flow, FLOW_TUNNELING);
	flow_set_deadline(scene->flow, 1000 * PEER_PATIENCE_MS);
	take(scene, "a");
	assert_true(left_ms(scene->flow) <= IDLE_MS);
	flow_set_deadline(scene->flow, 1000 * PEER_PATIENCE_MS);
	assert_int_equal(
	    sendto(scene->world, "b", 1, 0, (struct sockaddr *)&to, length), 1);
	while (scene->flow->bytes_in == 0)
		assert_true(event_base_loop(base, EVLOOP_ONCE) >= 0);
	/* Or it has passed already. */
	assert_true(scene->closed || left_ms(scene->flow) <= IDLE_MS);
}

static void
flow_ends_when_nobody_listens_outside(void **state)
{
	struct scene *scene = *state;
	struct event_base *base = loop_base(scene->plane.loop);

	(void)close(scene->world);
	scene->world = -1;
	flow_enter(scene->flow, FLOW_TUNNELING);
	/* It would be over too late. */
	flow_set_deadline(scene->flow, PEER_PATIENCE_MS * 2);
	take(scene, "a");
	peer_run_until(base, &scene->closed);
	assert_int_equal(scene->flow->reason, REASON_UPSTREAM_REFUSED);
	assert_string_equal(scene->flow->cause, "Connection refused");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_came_early_is_passed_on_in_order_and_whole),
		TEST(what_comes_early_in_great_number_is_lost),
		TEST(what_comes_early_in_great_size_is_lost),
		TEST(flow_is_over_when_nothing_came_for_a_while),
		TEST(each_datagram_of_either_side_gives_it_more_time),
		TEST(flow_ends_when_nobody_listens_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
