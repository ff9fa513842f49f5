#include "gateway/cli/ledger.h"

#include "gateway/cli/policies.h"
#include "gateway/cli/settings.h"
#include "gateway/cli/task.h"
#include "gateway/proc/channel.h"
#include "schema/event.h"
#include "schema/json.h"
#include "schema/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Room for a frame that carries one detail. */
#define FRAME_ROOM (LIMIT_EVENT_DETAIL + 4096)

/* 60 bits: two runs of one database never meet. */
#define NAME_LETTERS 12

int
ledger_name_draw(struct ledger_name *ret)
{
	/* Without l, o, 0 and 1, which people mix up. */
	static const char letters[] = "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char drawn[sizeof(ret->id) + NAME_LETTERS];
	struct ledger_name name = { .uid = "run-" };
	size_t prefix = strlen(name.uid);

	if (getrandom(drawn, sizeof(drawn), 0) != (ssize_t)sizeof(drawn))
		return STATUS_SYSTEM;
	memcpy(name.id, drawn, sizeof(name.id));
	for (size_t i = 0; i < NAME_LETTERS; i++)
		name.uid[prefix + i] =
		    letters[drawn[sizeof(name.id) + i] % (sizeof(letters) - 1)];
	*ret = name;
	return STATUS_OK;
}

/* The workspace, the first words of the command, and how many more. */
static bool
write_detail(const struct task *task, size_t words, struct cursor_writer *out)
{
	struct json json = json_to(out);
	size_t more = 0;

	json_open(&json, NULL, '{');
	json_open(&json, "command", '[');
	for (char **word = task->command; *word != NULL; word++) {
		if (words == 0) {
			more++;
			continue;
		}
		words--;
		json_text(&json, NULL, *word);
	}
	json_close(&json, ']');
	if (more > 0)
		json_number(&json, "more", (int64_t)more);
	json_text(&json, "workspace", task->workspace.path);
	if (task->via.host[0] != '\0')
		json_text(&json, "via", task->via.host);
	if (task->session != NULL)
		json_text(&json, "session", task->session);
	json_close(&json, '}');
	return cursor_written(out);
}

/* As much of the command as a row can hold. */
static struct cursor
detail_of(const struct task *task, unsigned char *room, size_t size)
{
	struct cursor_writer out = cursor_writer_of(room, size);
	size_t words = 0;

	while (task->command[words] != NULL)
		words++;
	while (!write_detail(task, words, &out)) {
		if (words == 0)
			return cursor_of_text("{}");
		words /= 2;
		out = cursor_writer_of(room, size);
	}
	return cursor_of(room, out.used);
}

static void
fill(char *out, size_t size, const char *text)
{
	/* What is too long is left out: a cut name is another name. */
	if (strlen(text) < size)
		memcpy(out, text, strlen(text) + 1);
}

static int
send_run(struct channel *audit, const struct ledger_name *name,
    const struct task *task, const struct settings *settings)
{
	unsigned char packet[FRAME_ROOM], detail[LIMIT_EVENT_DETAIL];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_RUN, packet, sizeof(packet));
	struct event_run run = { .uid = "" };

	run.sync = task->audit_sync;
	memcpy(run.uid, name->uid, sizeof(run.uid));
	fill(run.principal, sizeof(run.principal),
	    task->agent == NULL ? settings->user : task->agent);
	fill(run.owner, sizeof(run.owner), settings->user);
	fill(run.host, sizeof(run.host), settings->host);
	fill(run.image, sizeof(run.image), task->command[0]);
	run.detail = detail_of(task, detail, sizeof(detail));
	event_run_write(&run, &out);
	return channel_send(audit, &out, NULL, 0);
}

int
ledger_add_policy(struct channel *audit, const struct policies_layer *layer,
    const struct settings *settings)
{
	unsigned char packet[FRAME_ROOM];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_POLICY, packet, sizeof(packet));
	struct event_policy policy = { .loaded_by = "" };

	memcpy(policy.sha256, layer->sha256, sizeof(policy.sha256));
	fill(policy.loaded_by, sizeof(policy.loaded_by), settings->user);
	memcpy(policy.name, layer->name, sizeof(policy.name));
	event_policy_write(&policy, &out);
	return channel_send(audit, &out, &layer->fd, 1);
}

static int
send_producer(struct channel *audit, enum event_role role, int producer)
{
	unsigned char packet[16];
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_PRODUCER, packet, sizeof(packet));

	event_producer_write(role, &out);
	return channel_send(audit, &out, &producer, 1);
}

int
ledger_add_launcher(struct channel *audit, int producer)
{
	return send_producer(audit, EVENT_ROLE_LAUNCHER, producer);
}

int
ledger_open(struct channel *audit, const struct ledger_name *name,
    const struct task *task, const struct settings *settings,
    const struct policies *policies, const struct ledger_producers *producers)
{
	int status = send_run(audit, name, task, settings);

	for (size_t i = 0; status == STATUS_OK && i < policies->count; i++)
		status =
		    ledger_add_policy(audit, &policies->layers[i], settings);
	if (status == STATUS_OK)
		status = send_producer(
		    audit, EVENT_ROLE_GATEWAY, producers->gateway);
	if (status == STATUS_OK && producers->broker >= 0)
		status =
		    send_producer(audit, EVENT_ROLE_BROKER, producers->broker);
	return status;
}

int
ledger_close(
    struct channel *audit, int code, const char *end, const char *packets)
{
	unsigned char packet[FRAME_ROOM], detail[256];
	struct cursor_writer text = cursor_writer_of(detail, sizeof(detail));
	struct json j = json_to(&text);
	struct cursor_writer out =
	    frame_begin(FRAME_AUDIT_END, packet, sizeof(packet));
	struct event_end last = { .status = code };

	fill(last.end, sizeof(last.end), end);
	last.detail = cursor_of_text("");
	if (packets != NULL) {
		json_open(&j, NULL, '{');
		json_verbatim(&j, "packets_refused", packets);
		json_close(&j, '}');
	}
	if (packets != NULL && cursor_written(&text))
		last.detail = cursor_of(text.bytes, text.used);
	event_end_write(&last, &out);
	return channel_send(audit, &out, NULL, 0);
}
