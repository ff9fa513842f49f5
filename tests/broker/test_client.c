#include "broker/client.h"
#include "schema/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int send_status;
static int answered, last_status;

static int
on_send(const struct cursor_writer *out, void *arg)
{
	(void)out;
	(void)arg;
	return send_status;
}

static void
on_answer(struct client_ask *ask, const struct client_answer *answer)
{
	(void)ask;
	answered++;
	last_status = answer->status;
	assert_non_null(answer->why);
}

static struct client *
begin(void)
{
	static const struct client_events events = { .send = on_send };

	answered = 0;
	send_status = STATUS_OK;
	return client_new(&events);
}

static int
refuse(struct client *client, uint32_t number)
{
	unsigned char packet[64];
	struct cursor_writer out =
	    frame_begin(FRAME_GRANT_REFUSED, packet, sizeof(packet));
	struct grant_refusal refusal = { .number = number, .text = "no" };
	struct frame frame;

	grant_refusal_write(&refusal, &out);
	assert_int_equal(frame_parse(packet, out.used, &frame), STATUS_OK);
	return client_take(client, &frame);
}

static void
an_answer_finds_its_question_once(void **state)
{
	struct client *client = begin();
	struct grant_question one = { .port = 1 }, two = { .port = 2 };
	struct client_ask first = { .on_answer = on_answer };
	struct client_ask second = { .on_answer = on_answer };

	(void)state;
	assert_int_equal(client_grant(client, &one, &first, 0), STATUS_OK);
	assert_int_equal(client_grant(client, &two, &second, 0), STATUS_OK);
	assert_int_not_equal(one.number, two.number);
	assert_int_equal(refuse(client, two.number), STATUS_OK);
	assert_int_equal(answered, 1);
	assert_int_equal(last_status, STATUS_REFUSED);
	/* A second answer, and one to nothing, are late and no fault. */
	assert_int_equal(refuse(client, two.number), STATUS_OK);
	assert_int_equal(answered, 1);
	client_forget(client, &first);
	assert_int_equal(refuse(client, one.number), STATUS_OK);
	assert_int_equal(answered, 1);
	client_free(client);
}

static void
silence_is_a_no(void **state)
{
	struct client *client = begin();
	struct grant_question question = { .port = 1 };
	struct client_ask ask = { .on_answer = on_answer };
	int64_t deadline_us = (int64_t)LIMIT_GRANT_MS * 1000;

	(void)state;
	assert_int_equal(client_grant(client, &question, &ask, 0), STATUS_OK);
	assert_int_equal(client_expire(client, deadline_us - 1), deadline_us);
	assert_int_equal(client_expire(client, deadline_us), -1);
	assert_int_equal(answered, 1);
	assert_int_equal(last_status, STATUS_TIMEOUT);
	client_free(client);
}

static void
a_broker_that_is_gone_answers_no_to_all(void **state)
{
	struct client *client = begin();
	struct grant_question question = { .port = 1 };
	struct client_ask ask = { .on_answer = on_answer };

	(void)state;
	assert_int_equal(client_grant(client, &question, &ask, 0), STATUS_OK);
	client_close(client);
	assert_int_equal(answered, 1);
	assert_int_equal(last_status, STATUS_CLOSED);
	assert_int_equal(
	    client_grant(client, &question, &ask, 0), STATUS_CLOSED);
	assert_int_equal(answered, 1);
	client_free(client);
}

static void
what_cannot_be_sent_was_not_asked(void **state)
{
	struct client *client = begin();
	struct grant_question question = { .port = 1 };
	struct client_ask ask = { .on_answer = on_answer };

	(void)state;
	send_status = STATUS_FULL;
	assert_int_equal(client_grant(client, &question, &ask, 0), STATUS_FULL);
	client_close(client);
	assert_int_equal(answered, 0);
	client_free(client);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_finds_its_question_once),
		cmocka_unit_test(silence_is_a_no),
		cmocka_unit_test(a_broker_that_is_gone_answers_no_to_all),
		cmocka_unit_test(what_cannot_be_sent_was_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
