#include "broker/service.h"

#include "schema/json.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US_A_MS 1000
#define US_A_SECOND 1000000

struct service {
	struct catalog *catalog;
	struct service_events events;
	struct leases *leases;
	bool revoked[LIMIT_CREDENTIALS]; /* by number, for the run's life */
	int64_t wall_us; /* of the frame or tick that is being handled */
	unsigned char packet[LIMIT_FRAME];
};

static struct lease_time
lease_time_of(struct service_time now)
{
	return (struct lease_time){ .wall_s = now.wall_us / US_A_SECOND,
		.monotonic_ms = now.monotonic_us / US_A_MS };
}

/* ---- rows ---- */

static void
describe(const struct credential *credential, const struct grant *grant,
    const char *why, struct cursor_writer *out)
{
	struct json j = json_to(out);

	json_open(&j, NULL, '{');
	if (credential != NULL)
		json_text(&j, "kind", credential->mint->kind);
	if (grant != NULL)
		json_number(&j, "lease_ms", grant->lease_ms);
	else
		json_text(&j, "cause", why);
	json_close(&j, '}');
}

static int
record(struct service *service, const struct credential *credential,
    const struct grant_question *question, const struct grant *grant,
    const char *why)
{
	unsigned char detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out = cursor_writer_of(detail, sizeof(detail));
	struct event event = event_empty();

	describe(credential, grant, why, &out);
	event.kind = EVENT_CRED_MINT;
	event.verdict = grant != NULL ? EVENT_ALLOW : EVENT_ERROR;
	event.reason =
	    grant != NULL ? REASON_NONE : REASON_CREDENTIAL_UNAVAILABLE;
	event.ts_us = service->wall_us;
	event.cred = cursor_of_text(question->credential);
	event.host = cursor_of_text(question->host);
	event.dst_port = question->port;
	if (cursor_written(&out))
		event.detail = cursor_of(out.bytes, out.used);
	return service->events.record(&event, service->events.arg);
}

/* ---- grants ---- */

static void
reply(struct service *service, struct cursor_writer *out)
{
	/* An answer that cannot be sent is one that does not come: a no. */
	(void)!service->events.send(out, service->events.arg);
	explicit_bzero(out->bytes, out->used);
}

static void
refuse(struct service *service, uint32_t number, const char *why)
{
	struct cursor_writer out = frame_begin(
	    FRAME_GRANT_REFUSED, service->packet, sizeof(service->packet));
	struct grant_refusal refusal = { .number = number };

	if (snprintf(refusal.text, sizeof(refusal.text), "%s", why) < 0)
		refusal.text[0] = '\0';
	grant_refusal_write(&refusal, &out);
	reply(service, &out);
}

static void
on_grant(const struct credential *credential,
    const struct grant_question *question, const struct grant *grant,
    const struct lease_refusal *refusal, void *arg)
{
	struct service *service = arg;
	struct cursor_writer out = frame_begin(
	    FRAME_GRANT_GIVEN, service->packet, sizeof(service->packet));
	struct grant view;

	/* What has no row is not given. */
	if (record(service, credential, question, grant, refusal->why) !=
	    STATUS_OK) {
		refuse(service, question->number, "the audit takes no rows");
		return;
	}
	if (grant == NULL) {
		refuse(service, question->number,
		    refusal->quotes ? "its issuer says no" : refusal->why);
		return;
	}
	view = *grant;
	view.number = question->number;
	view.slot =
	    (uint16_t)(catalog_number(service->catalog, credential) + 1);
	view.generation =
	    service->events.generation(view.slot, service->events.arg);
	grant_write(&view, &out);
	reply(service, &out);
}

/* Why this run may not have it there, or NULL. */
static const char *
objection(const struct service *service, const struct credential *credential,
    const struct grant_question *question)
{
	if (credential == NULL ||
	    !catalog_is_needed(service->catalog, credential))
		return "the policy of this run names no such credential";
	if (service->revoked[catalog_number(service->catalog, credential)])
		return "the credential was revoked";
	if (!scope_admits(&credential->scope, question->host, question->port,
		question->tls))
		return "the credential is not for this host and port";
	if (service->events.objection == NULL)
		return NULL;
	return service->events.objection(
	    question->credential, service->events.arg);
}

static int
take_ask(struct service *service, struct cursor body, struct service_time now)
{
	struct grant_question question;
	const struct credential *credential;
	const char *why;

	if (grant_question_read(body, &question) != STATUS_OK)
		return STATUS_MALFORMED;
	credential = catalog_find(service->catalog, question.credential);
	why = objection(service, credential, &question);
	if (why == NULL) {
		leases_ask(
		    service->leases, credential, &question, lease_time_of(now));
		return STATUS_OK;
	}
	(void)!record(service, credential, &question, NULL, why);
	refuse(service, question.number, why);
	return STATUS_OK;
}

/* ---- all messages ---- */

static const struct {
	uint16_t type;
	int (*take)(struct service *service, struct cursor body,
	    struct service_time now);
} messages[] = {
	{ FRAME_GRANT_ASK, take_ask },
};

int
service_take(
    struct service *service, const struct frame *frame, struct service_time now)
{
	service->wall_us = now.wall_us;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (messages[i].type == frame->type)
			return messages[i].take(service, frame->body, now);
	return STATUS_MALFORMED;
}

int
service_answer(
    struct service *service, const struct frame *frame, struct service_time now)
{
	struct errand_answer answer;

	service->wall_us = now.wall_us;
	if (frame->type != FRAME_ERRAND_ANSWER ||
	    errand_answer_read(frame->body, &answer) != STATUS_OK)
		return STATUS_MALFORMED;
	/* One that came too late is no fault. */
	(void)!leases_answer(service->leases, &answer, lease_time_of(now));
	return STATUS_OK;
}

int
service_revoke(struct service *service, const char *credential,
    struct service_time now, uint16_t *ret_slot)
{
	const struct credential *meant =
	    catalog_find(service->catalog, credential);
	size_t number;

	if (meant == NULL || !catalog_is_needed(service->catalog, meant))
		return STATUS_NOT_FOUND;
	number = catalog_number(service->catalog, meant);
	service->wall_us = now.wall_us;
	service->revoked[number] = true;
	*ret_slot = (uint16_t)(number + 1);
	leases_revoke(service->leases, meant, lease_time_of(now));
	return STATUS_OK;
}

void
service_tick(struct service *service, struct service_time now)
{
	service->wall_us = now.wall_us;
	leases_tick(service->leases, lease_time_of(now));
}

void
service_end(struct service *service, struct service_time now)
{
	service->wall_us = now.wall_us;
	leases_revoke(service->leases, NULL, lease_time_of(now));
}

bool
service_is_busy(const struct service *service)
{
	return leases_are_busy(service->leases);
}

static int
run_errand(const struct errand *errand, void *arg)
{
	struct service *service = arg;

	return service->events.run_errand(errand, service->events.arg);
}

struct service *
service_new(struct catalog *catalog, const struct mint_run *run,
    const struct service_events *events)
{
	struct service *service = calloc(1, sizeof(*service));
	struct lease_events lease_events = { .on_grant = on_grant,
		.run_errand = run_errand };

	if (service == NULL)
		return NULL;
	service->catalog = catalog;
	service->events = *events;
	lease_events.arg = service;
	service->leases = leases_new(run, &lease_events);
	if (service->leases == NULL) {
		service_free(service);
		return NULL;
	}
	return service;
}

void
service_free(struct service *service)
{
	if (service == NULL)
		return;
	leases_free(service->leases);
	free(service);
}
