#include "broker/service.h"
#include "tests/broker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const char file[] =
    "{\"version\": 1, \"credentials\": {\n"
    " \"bearer\": {\"kind\": \"bearer\", \"hosts\": [\"a.example\"],\n"
    "        \"source\": {\"file\": \"k\"}},\n"
    " \"token\": {\"kind\": \"bearer\", \"scheme\": \"token\",\n"
    "        \"hosts\": [\"a.example\"], \"source\": {\"file\": \"k\"}},\n"
    " \"basic\": {\"kind\": \"basic\", \"user\": \"u\",\n"
    "        \"hosts\": [\"a.example\"], \"source\": {\"file\": \"k\"}},\n"
    " \"header\": {\"kind\": \"header\", \"header\": \"X-Api-Key\",\n"
    "        \"hosts\": [\"a.example\"], \"source\": {\"file\": \"k\"}},\n"
    " \"query\": {\"kind\": \"query\", \"query\": \"key\",\n"
    "        \"hosts\": [\"a.example\"], \"source\": {\"file\": \"k\"}}}}";

static unsigned char sent[LIMIT_FRAME];
static size_t sent_length;
static bool audit_works;
static char row[512];

static int
on_send(const struct cursor_writer *out, void *arg)
{
	(void)arg;
	memcpy(sent, out->bytes, out->used);
	sent_length = out->used;
	return STATUS_OK;
}

static int
on_record(struct event *event, void *arg)
{
	(void)arg;
	assert_int_equal(event->kind, EVENT_CRED_MINT);
	(void)snprintf(row, sizeof(row), "%s %.*s %.*s:%d %.*s",
	    event_verdict_name(event->verdict), (int)event->cred.left,
	    (const char *)event->cred.at, (int)event->host.left,
	    (const char *)event->host.at, (int)event->dst_port,
	    (int)event->detail.left, (const char *)event->detail.at);
	return audit_works ? STATUS_OK : STATUS_CLOSED;
}

static uint64_t
on_generation(uint16_t slot, void *arg)
{
	(void)arg;
	return 100u + slot;
}

static struct service *
begin(struct catalog **ret)
{
	static const struct service_events events = { .send = on_send,
		.record = on_record,
		.generation = on_generation };
	static const struct mint_run run = { .uid = "run-x" };

	audit_works = true;
	*ret = stage_load(file);
	stage_give(*ret, "s3cret");
	return service_new(*ret, &run, &events);
}

static uint16_t
ask(struct service *service, const char *credential, const char *host,
    uint16_t port, bool tls)
{
	unsigned char packet[1024];
	struct cursor_writer out =
	    frame_begin(FRAME_GRANT_ASK, packet, sizeof(packet));
	struct grant_question question = {
		.number = 7, .port = port, .tls = tls
	};
	struct frame frame;

	memcpy(question.credential, credential, strlen(credential) + 1);
	memcpy(question.host, host, strlen(host) + 1);
	grant_question_write(&question, &out);
	assert_int_equal(frame_parse(packet, out.used, &frame), STATUS_OK);
	sent_length = 0;
	assert_int_equal(
	    service_take(service, &frame, (struct service_time){ 0 }),
	    STATUS_OK);
	assert_int_equal(frame_parse(sent, sent_length, &frame), STATUS_OK);
	return frame.type;
}

static void
each_static_kind_has_its_place(void **state)
{
	static const struct {
		const char *credential, *name, *value;
		enum grant_place place;
	} kinds[] = {
		{ "bearer", "authorization", "Bearer s3cret", GRANT_HEADER },
		{ "token", "authorization", "token s3cret", GRANT_HEADER },
		{ "basic", "authorization",
		    "Basic dTpzM2NyZXQ=", GRANT_HEADER },
		{ "header", "X-Api-Key", "s3cret", GRANT_HEADER },
		{ "query", "key", "s3cret", GRANT_QUERY },
	};
	struct catalog *catalog;
	struct service *service = begin(&catalog);

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct frame frame;
		struct grant grant;

		assert_int_equal(
		    ask(service, kinds[i].credential, "a.example", 443, true),
		    FRAME_GRANT_GIVEN);
		assert_int_equal(
		    frame_parse(sent, sent_length, &frame), STATUS_OK);
		assert_int_equal(grant_read(frame.body, &grant), STATUS_OK);
		assert_int_equal(grant.number, 7);
		assert_int_equal(grant.slot, i + 1);
		assert_int_equal(grant.generation, 101 + i);
		assert_int_equal(grant.count, 1);
		assert_int_equal(grant.fields[0].place, kinds[i].place);
		assert_string_equal(grant.fields[0].name, kinds[i].name);
		assert_true(secret_equals(
		    grant.fields[0].value, cursor_of_text(kinds[i].value)));
		assert_null(strstr(row, "s3cret"));
		grant_done(&grant);
	}
	service_free(service);
	catalog_free(catalog);
}

static void
another_host_port_or_scheme_is_refused_and_written_down(void **state)
{
	struct catalog *catalog;
	struct service *service = begin(&catalog);

	(void)state;
	assert_int_equal(ask(service, "bearer", "b.example", 443, true),
	    FRAME_GRANT_REFUSED);
	assert_string_equal(row,
	    "error bearer b.example:443 {\"kind\":\"bearer\",\"cause\":\"the "
	    "credential is not for this host and port\"}");
	assert_int_equal(ask(service, "bearer", "a.example", 8443, true),
	    FRAME_GRANT_REFUSED);
	assert_int_equal(ask(service, "bearer", "a.example", 443, false),
	    FRAME_GRANT_REFUSED);
	assert_int_equal(ask(service, "bearer", "a.example.", 443, true),
	    FRAME_GRANT_REFUSED);
	assert_int_equal(
	    ask(service, "none", "a.example", 443, true), FRAME_GRANT_REFUSED);
	service_free(service);
	catalog_free(catalog);
}

static void
what_has_no_row_is_not_given(void **state)
{
	struct catalog *catalog;
	struct service *service = begin(&catalog);

	(void)state;
	audit_works = false;
	assert_int_equal(ask(service, "bearer", "a.example", 443, true),
	    FRAME_GRANT_REFUSED);
	service_free(service);
	catalog_free(catalog);
}

static void
what_the_policy_does_not_name_is_not_given(void **state)
{
	static const struct service_events events = { .send = on_send,
		.record = on_record,
		.generation = on_generation };
	static const struct mint_run run = { .uid = "run-x" };
	struct catalog *catalog = NULL;
	struct problems problems = { .count = 0 };
	struct service *service;

	(void)state;
	audit_works = true;
	assert_int_equal(
	    catalog_load(cursor_of_text(file), &catalog, &problems), STATUS_OK);
	assert_int_equal(catalog_need(catalog, "basic"), STATUS_OK);
	stage_give(catalog, "s3cret");
	service = service_new(catalog, &run, &events);
	assert_int_equal(ask(service, "bearer", "a.example", 443, true),
	    FRAME_GRANT_REFUSED);
	assert_int_equal(
	    ask(service, "basic", "a.example", 443, true), FRAME_GRANT_GIVEN);
	service_free(service);
	catalog_free(catalog);
}

static void
a_frame_that_nobody_may_send_ends_the_channel(void **state)
{
	static const unsigned char packets[][2] = { { 0x07, 0x81 },
		{ 0x06, 0x05 }, { 0x07, 0x01 } };
	struct catalog *catalog;
	struct service *service = begin(&catalog);

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct frame frame;

		assert_int_equal(frame_parse(packets[i], 2, &frame), STATUS_OK);
		assert_int_equal(
		    service_take(service, &frame, (struct service_time){ 0 }),
		    STATUS_MALFORMED);
	}
	service_free(service);
	catalog_free(catalog);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_static_kind_has_its_place),
		cmocka_unit_test(
		    another_host_port_or_scheme_is_refused_and_written_down),
		cmocka_unit_test(what_has_no_row_is_not_given),
		cmocka_unit_test(what_the_policy_does_not_name_is_not_given),
		cmocka_unit_test(a_frame_that_nobody_may_send_ends_the_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
