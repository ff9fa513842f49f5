#include "policy/asker.h"

#include "policy/automaton.h"
#include "policy/rule.h"
#include "schema/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs ---- */

/* A word of a question: what would end it is encoded. */
static void
put_word(struct cursor_writer *out, const struct automaton_word *word)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < word->length; i++) {
		unsigned char byte = (unsigned char)word->text[i];

		if (byte > ' ' && byte < 0x7f && byte != '%') {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
	}
}

static bool
has_hash(const struct rule *rule, const uint8_t sha256[EXEMATCH_SHA256])
{
	for (size_t i = 0; i < rule->exe_count; i++)
		if (rule->exes[i].by_hash &&
		    memcmp(rule->exes[i].sha256, sha256, EXEMATCH_SHA256) == 0)
			return true;
	return false;
}

/* Unknown programs are met by what denies or asks, and by nothing else. */
static bool
unknown_will_do(const struct asker *asker)
{
	for (size_t i = 0; i < asker->count; i++)
		if ((asker->list[i].rule->action == RULE_ALLOW) !=
		    asker->list[i].negated)
			return false;
	return true;
}

/* The globs of all lists of programs, gathered for the automaton. */
struct program_globs {
	struct pathmatch *globs; /* borrowing; one array for all lists */
	size_t used;
	struct automaton_list lists[LIMIT_REGION_CONDITIONS + 1];
	size_t list_count;
};

/* False: no path at all would do. */
static bool
add_programs(struct program_globs *to, const struct asker_condition *c)
{
	struct pathmatch *first = to->globs + to->used;
	size_t count = 0;

	for (size_t i = 0; i < c->rule->exe_count; i++)
		if (!c->rule->exes[i].by_hash)
			first[count++] = c->rule->exes[i].path;
	to->used += count;
	to->lists[to->list_count++] = (struct automaton_list){
		.paths = first, .count = count, .negated = c->negated
	};
	return count > 0 || c->negated;
}

static size_t
count_programs(const struct asker *asker)
{
	size_t count = 0;

	for (size_t i = 0; i < asker->count; i++)
		count += asker->list[i].rule->exe_count;
	return count;
}

/* A path that goes with this hash, which may be one that nobody names. */
static int
find_program(const struct asker *asker, const uint8_t sha256[EXEMATCH_SHA256],
    struct automaton_word *ret)
{
	static const uint16_t tokens[] = { '/', PATHMATCH_STARS };
	const struct pathmatch absolute = { .tokens = unconst(tokens),
		.length = sizeof(tokens) / sizeof(tokens[0]) };
	struct program_globs all = {
		.globs = calloc(count_programs(asker) + 1, sizeof(absolute)),
		.list_count = 1,
		.lists = { { .paths = &absolute, .count = 1 } },
	};
	bool possible = true;
	int status = STATUS_NO_MEMORY;

	for (size_t i = 0; all.globs != NULL && i < asker->count; i++) {
		const struct asker_condition *c = &asker->list[i];

		if (!has_hash(c->rule, sha256))
			possible = add_programs(&all, c) && possible;
		else
			possible = possible && !c->negated;
	}
	/* One list more than there are conditions. */
	if (asker->count >= LIMIT_REGION_CONDITIONS)
		status = STATUS_FULL;
	else if (all.globs != NULL)
		status = possible ? automaton_find(AUTOMATON_TEXTS, all.lists,
					all.list_count, ret)
				  : STATUS_NOT_FOUND;
	free(all.globs);
	return status;
}

static int
try_program(const struct asker *asker, const uint8_t sha256[EXEMATCH_SHA256],
    bool told, struct cursor_writer *out)
{
	struct automaton_word *word = calloc(1, sizeof(*word));
	int status = STATUS_NO_MEMORY;

	if (word != NULL)
		status = find_program(asker, sha256, word);
	if (status == STATUS_OK) {
		cursor_put_text(out, "exe=");
		put_word(out, word);
	}
	if (status == STATUS_OK && told) {
		cursor_put_text(out, " sha256=");
		exematch_print_hash(sha256, out);
	}
	free(word);
	return status;
}

/* A hash that no condition names, and whether they name any. */
static bool
fresh_hash(const struct asker *asker, uint8_t ret[EXEMATCH_SHA256])
{
	bool any = false;

	memset(ret, 0, EXEMATCH_SHA256);
	for (size_t i = 0; i < asker->count; i++) {
		const struct rule *rule = asker->list[i].rule;

		for (size_t k = 0; k < rule->exe_count; k++)
			any = any || rule->exes[k].by_hash;
		if (!has_hash(rule, ret))
			continue;
		/* From the start: those before may name the next one. */
		ret[0]++;
		if (ret[0] == 0)
			ret[1]++;
		i = SIZE_MAX;
	}
	return any;
}

int
asker_sample_program(const struct asker *asker, struct cursor_writer *out)
{
	uint8_t fresh[EXEMATCH_SHA256];
	bool any = fresh_hash(asker, fresh);
	int status;

	if (unknown_will_do(asker))
		return STATUS_OK;
	status = try_program(asker, fresh, any, out);
	for (size_t i = 0; i < asker->count; i++) {
		const struct rule *rule = asker->list[i].rule;

		for (size_t k = 0;
		     status == STATUS_NOT_FOUND && k < rule->exe_count; k++)
			if (rule->exes[k].by_hash)
				status = try_program(
				    asker, rule->exes[k].sha256, true, out);
	}
	return status;
}

/* ---- messages ---- */

/* A call of a tool: what is left to be found is the tool's name. */
static int
find_tool(const struct asker *asker, struct automaton_word *ret)
{
	struct automaton_list lists[LIMIT_REGION_CONDITIONS];
	size_t count = 0;

	for (size_t i = 0; i < asker->count; i++) {
		const struct asker_condition *c = &asker->list[i];
		const struct mcpmatch *mcp = &c->rule->mcp;
		bool holds =
		    mcpmatch_has_method(mcp, cursor_of_text(MCPMATCH_CALL));

		if (holds && mcp->tool_count > 0) {
			lists[count] =
			    (struct automaton_list){ .paths = mcp->tools,
				    .count = mcp->tool_count,
				    .negated = c->negated };
			count++;
		} else if (holds == c->negated) {
			return STATUS_NOT_FOUND;
		}
	}
	return automaton_find(AUTOMATON_TEXTS, lists, count, ret);
}

/* Any other message: what is left to be found is its method. */
static int
find_method(const struct asker *asker, struct automaton_word *ret)
{
	struct automaton_list lists[LIMIT_REGION_CONDITIONS + 1];
	struct pathmatch call;
	size_t count = 1;
	int status = pathmatch_init_text(
	    &call, MCPMATCH_CALL, sizeof(MCPMATCH_CALL) - 1);

	if (status != STATUS_OK)
		return status;
	/* One list more than there are conditions. */
	if (asker->count >= LIMIT_REGION_CONDITIONS)
		status = STATUS_FULL;
	lists[0] = (struct automaton_list){
		.paths = &call, .count = 1, .negated = true
	};
	for (size_t i = 0; i < asker->count && status == STATUS_OK; i++) {
		const struct asker_condition *c = &asker->list[i];
		const struct mcpmatch *mcp = &c->rule->mcp;

		if (mcp->method_count == 0) {
			if (!c->negated)
				status = STATUS_NOT_FOUND;
			continue;
		}
		lists[count] = (struct automaton_list){ .paths = mcp->methods,
			.count = mcp->method_count,
			.negated = c->negated };
		count++;
	}
	if (status == STATUS_OK)
		status = automaton_find(AUTOMATON_TEXTS, lists, count, ret);
	pathmatch_done(&call);
	return status;
}

/* What is no message is met by no condition on one. */
static bool
silence_will_do(const struct asker *asker)
{
	for (size_t i = 0; i < asker->count; i++)
		if (!asker->list[i].negated)
			return false;
	return true;
}

int
asker_sample_message(const struct asker *asker, struct cursor_writer *out)
{
	struct automaton_word *word = calloc(1, sizeof(*word));
	int status = STATUS_NO_MEMORY;

	if (silence_will_do(asker)) {
		free(word);
		return STATUS_OK;
	}
	if (word == NULL)
		return status;
	status = find_method(asker, word);
	if (status == STATUS_OK) {
		cursor_put_text(out, "mcp=");
		put_word(out, word);
	} else if (status == STATUS_NOT_FOUND) {
		status = find_tool(asker, word);
		if (status == STATUS_OK) {
			cursor_put_text(out, "mcp=" MCPMATCH_CALL " tool=");
			put_word(out, word);
		}
	}
	free(word);
	return status;
}
