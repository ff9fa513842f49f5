#include "broker/agent.h"

#include "broker/reading.h"
#include "broker/remit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = { "note", "scope", "ttl_s", "may_act", NULL };

#define PREFIX "agent:"
#define CREDENTIAL "cred:"

/* ---- one of them ---- */

/* A scope that names what there is not would promise something. */
static void
check_word(
    const struct reading *top, const struct reading *reading, const char *word)
{
	const json_t *all = json_object_get(top->object, "credentials");

	/* Two in one would be a list of their own. */
	if (strchr(word, ' ') != NULL)
		reading_blame(reading, "scope", "write each word in quotes",
		    "\"%.64s\" is more than one word", word);
	if (strncmp(word, CREDENTIAL, strlen(CREDENTIAL)) == 0 &&
	    json_object_get(all, word + strlen(CREDENTIAL)) == NULL)
		reading_blame(reading, "scope",
		    "name a credential of this file",
		    "there is no credential \"%.64s\"",
		    word + strlen(CREDENTIAL));
}

static void
read_scope(const struct reading *top, const struct reading *reading,
    struct agent *agent)
{
	json_t *words =
	    reading_texts(reading, "scope", READING_REQUIRED, LIMIT_SCOPE);
	struct cursor_writer out = cursor_writer_of(agent->scope, LIMIT_SCOPE);
	json_t *item;
	size_t i;

	if (words == NULL)
		return;
	json_array_foreach(words, i, item)
	{
		if (i > 0)
			cursor_put_u8(&out, ' ');
		cursor_put_text(&out, json_string_value(item));
		check_word(top, reading, json_string_value(item));
	}
	agent->scope[out.used] = '\0';
	if (!cursor_written(&out) || !remit_is_sound(agent->scope))
		reading_blame(reading, "scope",
		    "write words such as \"egress:default\"",
		    "a scope has at most %d words without blanks, none twice, "
		    "in %d bytes",
		    LIMIT_SCOPES, LIMIT_SCOPE);
}

static void
read_others(const struct reading *all, const struct reading *reading,
    struct agent *agent)
{
	json_t *names = reading_texts(
	    reading, "may_act", READING_OPTIONAL, LIMIT_CREDENTIAL_NAME);
	json_t *item;
	size_t i;

	json_array_foreach(names, i, item)
	{
		const char *name = json_string_value(item);

		if (json_object_get(all->object, name) == NULL)
			reading_blame(reading, "may_act",
			    "name identities of this file",
			    "there is no identity \"%.64s\"", name);
		else if (agent->others == LIMIT_MAY_ACT)
			reading_blame(reading, "may_act", "",
			    "there are more than %d", LIMIT_MAY_ACT);
		else
			memcpy(agent->other[agent->others++], name,
			    strlen(name) + 1);
	}
}

static void
read_one(const struct reading *top, const struct reading *all,
    const struct reading *reading, const char *name, struct agents *agents)
{
	struct agent *agent = &agents->list[agents->count];
	json_int_t life_s = LIMIT_TOKEN_LIFE_S;

	if (!reading_is_name(name)) {
		reading_blame(reading, NULL,
		    "use at most 64 letters, digits, \"-\", \"_\" and \".\"",
		    "\"%.100s\" is no name of an identity", name);
		return;
	}
	reading_known(reading, keys, NULL);
	memcpy(agent->name, name, strlen(name) + 1);
	(void)!reading_integer(
	    reading, "ttl_s", 1, LIMIT_TOKEN_LIFE_MOST_S, &life_s);
	agent->life_s = (uint32_t)life_s;
	read_scope(top, reading, agent);
	read_others(all, reading, agent);
	agents->count++;
}

/* ---- all of them ---- */

void
agents_read(const struct reading *top, struct agents *ret)
{
	struct place place = { .key = "identities" }, at;
	struct reading all, one;
	const char *name;
	json_t *value;

	if (!reading_object(top, "identities", READING_OPTIONAL, &place, &all))
		return;
	if (json_object_size(all.object) > LIMIT_IDENTITIES) {
		reading_blame(&all, NULL, "",
		    "there are more than %d identities", LIMIT_IDENTITIES);
		return;
	}
	ret->list =
	    calloc(json_object_size(all.object) + 1, sizeof(*ret->list));
	if (ret->list == NULL) {
		report_no_memory(top->report);
		return;
	}
	json_object_foreach(all.object, name, value)
	{
		(void)value;
		if (reading_object(&all, name, READING_REQUIRED, &at, &one))
			read_one(top, &all, &one, name, ret);
	}
}

void
agents_done(struct agents *agents)
{
	free(STEAL(agents->list));
	agents->count = 0;
}

const struct agent *
agents_find(const struct agents *agents, const char *name)
{
	for (size_t i = 0; i < agents->count; i++)
		if (strcmp(agents->list[i].name, name) == 0)
			return &agents->list[i];
	return NULL;
}

const struct agent *
agents_of(const struct agents *agents, const char *principal)
{
	if (strncmp(principal, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	return agents_find(agents, principal + strlen(PREFIX));
}

void
agent_principal(const struct agent *agent, char out[LIMIT_PRINCIPAL + 1])
{
	size_t length = strlen(agent->name);

	static_assert(sizeof(PREFIX) + LIMIT_CREDENTIAL_NAME <= LIMIT_PRINCIPAL,
	    "there is room for every name");
	memcpy(out, PREFIX, sizeof(PREFIX));
	memcpy(out + sizeof(PREFIX) - 1, agent->name, length + 1);
}

bool
agent_lets(const struct agent *agent, const struct agent *other)
{
	for (size_t i = 0; i < agent->others; i++)
		if (strcmp(agent->other[i], other->name) == 0)
			return true;
	return false;
}
