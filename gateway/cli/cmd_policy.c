#include "gateway/cli/cmd_policy.h"

#include "gateway/cli/casefile.h"
#include "gateway/cli/cmd_replay.h"
#include "gateway/cli/comparison.h"
#include "gateway/cli/expand.h"
#include "gateway/cli/layering.h"
#include "gateway/cli/outlet.h"
#include "gateway/cli/policy_set.h"
#include "gateway/proc/clock.h"
#include "policy/describe.h"
#include "policy/explain.h"
#include "policy/question.h"
#include "policy/stack.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: exeat policy check [--json] [--within CEILING] FILE...\n"
    "       exeat policy explain [--json] FILE... --url URL [OPTIONS]\n"
    "       exeat policy test FILE... CASES\n"
    "       exeat policy compare [--json] BEFORE AFTER\n"
    "       exeat policy compare [--json] BEFORE... -- AFTER...\n"
    "       exeat policy replay [--json] FILE... [--audit DB] [--run RUN]\n"
    "       exeat policy suggest [--audit DB] [--run RUN]\n"
    "       exeat policy set RUN FILE...\n"
    "\n"
    "check reads policies as `exeat run` would: it lists everything that is\n"
    "wrong with them, each with its line and what to write instead, or says\n"
    "in words what each rule covers.\n"
    "\n"
    "explain puts one question to the policies and tells the answer, the rule\n"
    "that gave it, and why each rule that nearly matched did not.  Several\n"
    "files are layers: all of them must allow.\n"
    "\n"
    "test puts the questions of a case file and tells which answers are not\n"
    "the expected ones.  Its lines are \"question => verdict rule\":\n"
    "  POST https://api.example.com/repos/acme/x/issues => allow issues\n"
    "  GET https://api.example.com/user => deny path\n"
    "\n"
    "compare tells all that AFTER allows and BEFORE does not, each with one\n"
    "request; it weighs the rules themselves, so nothing told is a proof.\n"
    "check --within does so for the files together and a ceiling.\n"
    "\n"
    "replay puts all that runs asked for to the policies, and tells what\n"
    "would now be answered otherwise.  suggest writes the smallest policy\n"
    "for all that was allowed.\n"
    "\n"
    "set puts other policies in force for a run that is under way, in place\n"
    "of those it was started with: all of them or, when something is wrong,\n"
    "none.  The next request is judged by them, and what they do not allow is\n"
    "ended; the machine's ceiling stays over the run.\n"
    "\n"
    "  --url URL         https, http, wss, ws, ssh, tcp or udp\n"
    "  --method METHOD   of the request (default: GET)\n"
    "  --upgrade TOKEN   ask for an upgrade, such as websocket\n"
    "  --address ADDR    what the host resolves to: may it be dialled?\n"
    "  --exe PATH        the program that asks (default: unknown)\n"
    "  --mcp METHOD      the body is a message with this method\n"
    "  --tool NAME       of --mcp tools/call: the tool\n"
    "  --at TIME         as if it were then: 2026-03-01T09:00:00Z\n"
    "  --json            for programs\n"
    "\n"
    "A policy, in policy.json; what no rule allows is denied:\n"
    "  { \"version\": 1, \"rules\": [\n"
    "      { \"id\": \"packages\", \"host\": [\"@npm\", \"@apt\"] },\n"
    "      { \"id\": \"issues\", \"host\": [\"api.example.com\"],\n"
    "        \"path\": [\"/repos/acme/*/issues/**\"], \"access\": \"write\" } "
    "] }\n"
    "\n"
    "A rule says where to: host (names, *.suffix, @apt @cargo @go @npm @pip)\n"
    "or address (ranges), port, protocol (http, ssh, tcp, udp); what: access\n"
    "(read, write, any) or methods, path, query, upgrade, mcp; who and when:\n"
    "exe, valid; and what then: action (allow, ask, deny), ask, tls,\n"
    "credential, clear, echo, log, limits, reason, note.  A name that leads\n"
    "to a private address needs \"private\": true.  A server on this machine\n"
    "needs a name of its own, since localhost is the sandbox:\n"
    "      { \"id\": \"db\", \"host\": [\"db.local\"], \"resolve\": "
    "\"127.0.0.1\",\n"
    "        \"port\": [5432], \"protocol\": \"tcp\" }\n"
    "exeat-policy(5) tells each key.  A first policy for a program you have:\n"
    "  exeat run --observe -- npm test\n"
    "  exeat policy suggest >policy.json\n"
    "  exeat policy check policy.json\n"
    "And when something is refused, why:\n"
    "  exeat policy explain policy.json --url https://api.example.com/user\n"
    "  exeat policy explain policy.json --url tcp://db.local:5432\n"
    "\n"
    "Exit code: 0 when nothing is wrong, allowed, different or more; 1 when\n"
    "something is, or the request is not allowed; 125 usage.\n";

static void
write_problems(struct outlet *outlet, const struct problems *problems)
{
	struct json *json = &outlet->json;

	json_open(json, "problems", '[');
	for (size_t i = 0; i < problems->count; i++) {
		const struct problem *problem = &problems->list[i];

		json_open(json, NULL, '{');
		json_number(json, "line", problem->line);
		json_number(json, "column", problem->column);
		json_text(json, "path", problem->path);
		json_text(json, "text", problem->text);
		json_text(json, "cure", problem->cure);
		json_close(json, '}');
		outlet_flush(outlet);
	}
	json_close(json, ']');
	json_number(json, "more", (int64_t)problems->dropped);
}

/* Of one rule. */
#define WORDS_MAX 4096

/* What a rule covers, in words; of too many words the first. */
static void
words_of(const struct rule *rule, char *out, size_t size)
{
	struct cursor_writer words = cursor_writer_of(out, size - 1);

	describe_rule(rule, &words);
	out[words.used] = '\0';
}

/* What holds for all rules together. */
static void
print_limits(const struct policy *policy)
{
	char words[WORDS_MAX];
	struct cursor_writer out = cursor_writer_of(words, sizeof(words) - 1);

	if (!quota_is_stated(policy_quota(policy)))
		return;
	describe_quota(policy_quota(policy), &out);
	words[out.used] = '\0';
	(void)printf("  all rules together: %s\n", words);
}

static void
print_rules(const char *file, const struct policy *policy)
{
	char words[WORDS_MAX];
	size_t count = policy_rule_count(policy);

	(void)printf("%s: %zu rule%s; what no rule allows is denied\n", file,
	    count, count == 1 ? "" : "s");
	for (size_t i = 0; i < count; i++) {
		const struct rule *rule = policy_rule(policy, i);

		words_of(rule, words, sizeof(words));
		(void)printf("  %s: %s\n", rule_id(rule), words);
	}
	print_limits(policy);
}

static void
write_limits(struct outlet *outlet, const struct quota *quota)
{
	json_open(&outlet->json, "limits", '{');
	for (size_t i = 0; i < QUOTA_KIND_COUNT; i++)
		if (quota->most[i] != 0)
			json_number(&outlet->json,
			    quota_kind_name((enum quota_kind)i),
			    (int64_t)quota->most[i]);
	json_close(&outlet->json, '}');
}

static void
write_rules(struct outlet *outlet, const struct policy *policy)
{
	struct json *json = &outlet->json;
	char words[WORDS_MAX];

	json_open(json, "rules", '[');
	for (size_t i = 0; i < policy_rule_count(policy); i++) {
		const struct rule *rule = policy_rule(policy, i);

		words_of(rule, words, sizeof(words));
		json_open(json, NULL, '{');
		json_text(json, "id", rule_id(rule));
		json_text(json, "action", rule_action_name(rule->action));
		json_text(json, "covers", words);
		json_close(json, '}');
		outlet_flush(outlet);
	}
	json_close(json, ']');
}

static bool
check_one(const char *file, struct outlet *outlet)
{
	struct expansion expansion = { 0 };
	struct problems problems = { 0 };
	bool well =
	    expand_file(file, NULL, NULL, &expansion, &problems) == STATUS_OK;

	if (outlet != NULL) {
		json_open(&outlet->json, NULL, '{');
		json_text(&outlet->json, "file", file);
		json_bool(&outlet->json, "ok", well);
		write_problems(outlet, &problems);
		if (well) {
			write_limits(outlet, policy_quota(expansion.policy));
			write_rules(outlet, expansion.policy);
		}
		json_close(&outlet->json, '}');
	} else if (well) {
		print_rules(file, expansion.policy);
	} else {
		layering_print_problems(file, &problems);
	}
	problems_done(&problems);
	expansion_done(&expansion);
	return well;
}

struct options {
	bool json, help;
	const char *url, *method, *upgrade, *address, *at, *within, *audit,
	    *run, *exe, *mcp, *tool;
	size_t behind; /* files that stand behind "--" */
};

/* The files that a command names. */
struct files {
	char **names;
	size_t count;
};

/* Whether all files together allow nothing that the ceiling does not. */
static int
check_within(const struct files *files, const struct options *options)
{
	char *ceiling = unconst(options->within);
	const struct comparison_side before = { &ceiling, 1 };
	const struct comparison_side after = { files->names, files->count };

	if (!options->json)
		(void)printf("within %s:\n", ceiling);
	return comparison_run(&before, &after, options->json);
}

static int
run_check(const struct files *files, const struct options *options)
{
	struct outlet *outlet = options->json ? outlet_new() : NULL;
	bool well = true;

	if (options->json && outlet == NULL)
		return COMMAND_FAILED;
	if (outlet != NULL)
		json_open(&outlet->json, NULL, '[');
	for (size_t i = 0; i < files->count; i++)
		well = check_one(files->names[i], outlet) && well;
	if (outlet != NULL)
		json_close(&outlet->json, ']');
	outlet_end(outlet);
	free(outlet);
	if (well && options->within != NULL)
		return check_within(files, options);
	return well ? COMMAND_OK : COMMAND_NO;
}

static void
on_line(const struct rule *rule, const char *why, void *arg)
{
	struct outlet *outlet = arg;

	if (outlet == NULL) {
		(void)printf("    %s (%s): %s\n", rule_id(rule),
		    rule_action_name(rule->action),
		    why == NULL ? "matches" : why);
		return;
	}
	json_open(&outlet->json, NULL, '{');
	json_text(&outlet->json, "rule", rule_id(rule));
	json_text(&outlet->json, "action", rule_action_name(rule->action));
	json_bool(&outlet->json, "matches", why == NULL);
	if (why != NULL)
		json_text(&outlet->json, "why", why);
	json_close(&outlet->json, '}');
	outlet_flush(outlet);
}

static void
print_layer(const struct layering *layers, size_t i, const struct facts *facts)
{
	struct verdict verdict;

	(void)printf("  %s:\n", layers->files[i]);
	explain_policy(layers->policies[i], facts, on_line, NULL, &verdict);
	(void)printf("    answer: %s%s%s\n", verdict_name(verdict.kind),
	    verdict.rule == NULL ? "" : ", by ",
	    verdict.rule == NULL ? "" : rule_id(verdict.rule));
}

static void
print_explanation(const struct layering *layers, const struct facts *facts,
    const struct verdict *verdict, const char *words)
{
	(void)printf("%s: %s\n", verdict_name(verdict->kind), words);
	if (verdict->reason != REASON_NONE)
		(void)printf("  %s (%s)\n",
		    reason_entry(verdict->reason)->title,
		    reason_id(verdict->reason));
	if (verdict->rule != NULL && rule_reason(verdict->rule) != NULL)
		(void)printf("  %s\n", rule_reason(verdict->rule));
	for (size_t i = 0; i < layers->count; i++)
		print_layer(layers, i, facts);
}

static void
write_layer(struct outlet *outlet, const struct layering *layers, size_t i,
    const struct facts *facts)
{
	struct json *json = &outlet->json;
	struct verdict verdict;

	json_open(json, NULL, '{');
	json_text(json, "file", layers->files[i]);
	json_open(json, "rules", '[');
	explain_policy(layers->policies[i], facts, on_line, outlet, &verdict);
	json_close(json, ']');
	json_text(json, "verdict", verdict_name(verdict.kind));
	if (verdict.rule != NULL)
		json_text(json, "rule", rule_id(verdict.rule));
	json_close(json, '}');
	outlet_flush(outlet);
}

static bool
write_explanation(const struct layering *layers, const struct facts *facts,
    const struct verdict *verdict, const char *words)
{
	struct outlet *outlet = outlet_new();
	struct json *json;

	if (outlet == NULL)
		return false;
	json = &outlet->json;
	json_open(json, NULL, '{');
	json_text(json, "question", words);
	outlet_flush(outlet);
	json_text(json, "verdict", verdict_name(verdict->kind));
	json_text(json, "reason", reason_id(verdict->reason));
	json_text(json, "tls",
	    verdict->tls == VERDICT_TLS_PASSTHROUGH ? "passthrough"
						    : "inspect");
	if (verdict->rule != NULL)
		json_text(json, "rule", rule_id(verdict->rule));
	json_open(json, "layers", '[');
	for (size_t i = 0; i < layers->count; i++)
		write_layer(outlet, layers, i, facts);
	json_close(json, ']');
	json_close(json, '}');
	outlet_end(outlet);
	free(outlet);
	return true;
}

static int
usage_error(const char *text)
{
	(void)fprintf(stderr, "exeat policy: %s\n%s", text, usage);
	return COMMAND_FAILED;
}

/* One word of a question; what would end it is encoded. */
static void
put_word(struct cursor_writer *out, const char *name, const char *value)
{
	static const char digits[] = "0123456789ABCDEF";

	if (value == NULL)
		return;
	cursor_put_u8(out, ' ');
	cursor_put_text(out, name);
	for (const char *c = value; *c != '\0'; c++) {
		uint8_t byte = (uint8_t)*c;

		if (byte > ' ' && byte < 0x7f && byte != '%') {
			cursor_put_u8(out, byte);
			continue;
		}
		cursor_put_u8(out, '%');
		cursor_put_u8(out, (uint8_t)digits[byte >> 4]);
		cursor_put_u8(out, (uint8_t)digits[byte & 15]);
	}
}

/* The options as one question in words. */
static bool
words_of_options(const struct options *options, char *out, size_t size)
{
	struct cursor_writer words = cursor_writer_of(out, size - 1);

	if (options->method != NULL) {
		cursor_put_text(&words, options->method);
		cursor_put_u8(&words, ' ');
	}
	cursor_put_text(&words, options->url);
	put_word(&words, "upgrade=", options->upgrade);
	put_word(&words, "at=", options->at);
	put_word(&words, "exe=", options->exe);
	put_word(&words, "mcp=", options->mcp);
	put_word(&words, "tool=", options->tool);
	out[words.used] = '\0';
	return cursor_written(&words);
}

/* Whether the address that a name leads to would be dialled. */
static int
explain_address(const struct layering *layers, const struct facts *facts,
    const struct options *options)
{
	struct address address;

	if (address_parse(options->address, strlen(options->address),
		&address) != STATUS_OK)
		return usage_error("--address needs an address in full");
	if (stack_may_dial(layers->stack, facts, &address))
		return COMMAND_OK;
	if (!options->json)
		(void)printf("deny: %s is a %s address, and no rule for this "
			     "host opens it (special_address)\n",
		    options->address,
		    address_kind_name(address_kind(&address)));
	return COMMAND_NO;
}

static int
answer(const struct layering *layers, const struct question *question,
    const struct options *options, const char *words)
{
	const struct facts *facts = &question->facts;
	struct verdict verdict;

	stack_decide(layers->stack, facts, &verdict);
	if (options->address != NULL && verdict_allows(&verdict)) {
		int code = explain_address(layers, facts, options);

		if (code != COMMAND_OK)
			return code;
	}
	if (!options->json)
		print_explanation(layers, facts, &verdict, words);
	else if (!write_explanation(layers, facts, &verdict, words))
		return COMMAND_FAILED;
	return verdict_allows(&verdict) ? COMMAND_OK : COMMAND_NO;
}

static int
run_explain(const struct files *files, const struct options *options)
{
	struct question *question = malloc(sizeof(*question));
	char words[LIMIT_HTTP_URI];
	struct problem problem = { 0 };
	struct layering layers = { 0 };
	int code = COMMAND_NO;

	if (options->url == NULL) {
		free(question);
		return usage_error("explain needs --url");
	}
	if (question == NULL ||
	    !words_of_options(options, words, sizeof(words))) {
		code = usage_error("this question is too long");
	} else if (question_read(cursor_of_text(words), clock_wall_us(),
		       question, &problem) != STATUS_OK) {
		(void)fprintf(stderr, "exeat policy: %s; %s\n", problem.text,
		    problem.cure);
		code = COMMAND_FAILED;
	} else if (layering_load(&layers, files->names, files->count)) {
		code = answer(&layers, question, options, words);
	}
	layering_done(&layers);
	free(question);
	return code;
}

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, 'j' },
	{ "url", required_argument, NULL, 'u' },
	{ "method", required_argument, NULL, 'm' },
	{ "upgrade", required_argument, NULL, 'g' },
	{ "address", required_argument, NULL, 'a' },
	{ "at", required_argument, NULL, 't' },
	{ "exe", required_argument, NULL, 'e' },
	{ "mcp", required_argument, NULL, 'p' },
	{ "tool", required_argument, NULL, 'o' },
	{ "within", required_argument, NULL, 'w' },
	{ "audit", required_argument, NULL, 'd' },
	{ "run", required_argument, NULL, 'r' },
	{ NULL, 0, NULL, 0 },
};

static bool
take_option(int option, struct options *options)
{
	switch (option) {
	case 'h':
		options->help = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'u':
		options->url = optarg;
		return true;
	case 'm':
		options->method = optarg;
		return true;
	case 'g':
		options->upgrade = optarg;
		return true;
	case 'a':
		options->address = optarg;
		return true;
	case 't':
		options->at = optarg;
		return true;
	case 'd':
		options->audit = optarg;
		return true;
	case 'r':
		options->run = optarg;
		return true;
	case 'w':
		options->within = optarg;
		return true;
	case 'e':
		options->exe = optarg;
		return true;
	case 'p':
		options->mcp = optarg;
		return true;
	case 'o':
		options->tool = optarg;
		return true;
	default:
		return false;
	}
}

static int
run_test(const struct files *files, const struct options *options)
{
	(void)options;
	if (files->count < 2)
		return usage_error("test needs a policy and a case file");
	return casefile_run(
	    files->names, files->count - 1, files->names[files->count - 1]);
}

static int
run_compare(const struct files *files, const struct options *options)
{
	size_t behind = options->behind == 0 ? 1 : options->behind;
	struct comparison_side before = { files->names, files->count - behind };
	struct comparison_side after = { files->names + before.count, behind };

	if (behind >= files->count ||
	    (options->behind == 0 && files->count != 2))
		return usage_error("compare needs two policies, or layers on "
				   "both sides of \"--\"");
	return comparison_run(&before, &after, options->json);
}

static int
run_replay(const struct files *files, const struct options *options)
{
	const struct cmd_replay_from from = { options->audit, options->run,
		options->json };

	return cmd_replay_run(&from, files->names, files->count);
}

static int
run_suggest(const struct files *files, const struct options *options)
{
	const struct cmd_replay_from from = { options->audit, options->run,
		false };

	if (files->count > 0)
		return usage_error("suggest reads no policy");
	return cmd_replay_suggest(&from);
}

static int
run_set(const struct files *files, const struct options *options)
{
	(void)options;
	if (files->count < 2)
		return usage_error("set needs a run and a policy file");
	return policy_set(files->names[0], files->names + 1, files->count - 1);
}

static const struct verb {
	const char *name;
	int (*run)(const struct files *files, const struct options *options);
} verbs[] = {
	{ "check", run_check },
	{ "explain", run_explain },
	{ "test", run_test },
	{ "compare", run_compare },
	{ "replay", run_replay },
	{ "suggest", run_suggest },
	{ "set", run_set },
};

static int
run_verb(
    const char *name, const struct files *files, const struct options *options)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].run(files, options);
	return usage_error("there is no such command");
}

/* How many words stand behind a "--", which getopt takes away. */
static size_t
count_behind(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return (size_t)(argc - i - 1);
	return 0;
}

static int
run_policy(int argc, char **argv)
{
	struct files files = { .count = 0 };
	struct options options = { .behind = count_behind(argc, argv) };
	const char *verb = argc > 1 ? argv[1] : "";
	int option;

	optind = 1;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0)
		if (!take_option(option, &options))
			return COMMAND_FAILED;
	if (options.help) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	if (optind < argc)
		verb = argv[optind++];
	if (optind >= argc && strcmp(verb, "suggest") != 0)
		return usage_error("name a command and a policy file");
	files.names = argv + optind;
	files.count = (size_t)(argc - optind);
	return run_verb(verb, &files, &options);
}

const struct command cmd_policy = {
	.name = "policy",
	.summary = "check, test, compare and change policies",
	.usage = usage,
	.run = run_policy,
};
