#include "gateway/cli/inquiry.h"

#include "gateway/proc/clock.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <string.h>

enum {
	KEPT_VALUES = 3
};

void
inquiry_add_number(struct inquiry *inquiry, const char *name, int64_t number)
{
	inquiry->values[inquiry->value_count++] = (struct query_value){
		.name = name, .is_number = true, .number = number
	};
}

void
inquiry_add_text(struct inquiry *inquiry, const char *name, const char *text)
{
	inquiry->values[inquiry->value_count++] =
	    (struct query_value){ .name = name, .text = cursor_of_text(text) };
}

static int
take_count(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	struct cursor from = cursor_of_text(text);
	uint64_t count;

	if (!cursor_decimal(&from, LIMIT_QUERY_ROWS, &count) ||
	    !cursor_is_empty(&from))
		return problem_set(reterr,
		    "-n wants a number up to %d, not \"%.40s\"",
		    LIMIT_QUERY_ROWS, text);
	inquiry->count = (int64_t)count;
	return STATUS_OK;
}

/* "90s", "10m", "24h", "7d": when that was. */
static int
take_age(
    const char *option, const char *text, int64_t *ret, struct problem *reterr)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	struct cursor from = cursor_of_text(text);
	uint64_t count;
	uint8_t letter;

	if (cursor_decimal(&from, 1000000, &count) &&
	    cursor_u8(&from, &letter) && cursor_is_empty(&from))
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			if (units[i].letter != (char)letter)
				continue;
			*ret = clock_wall_us() -
			       (int64_t)count * units[i].seconds * 1000000;
			return STATUS_OK;
		}
	return problem_set(reterr,
	    "%s wants an age like 90s, 10m, 24h or 7d, not \"%.40s\"", option,
	    text);
}

static int
take_since(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	return take_age("--since", text, &inquiry->since_us, reterr);
}

static int
take_older(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	return take_age("--older-than", text, &inquiry->before_us, reterr);
}

static int
take_keep(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	struct cursor from = cursor_of_text(text);
	uint64_t count;

	if (!cursor_decimal(&from, LIMIT_SEGMENTS, &count) ||
	    !cursor_is_empty(&from) || count == 0)
		return problem_set(reterr,
		    "--keep wants a number of segments, not \"%.40s\"", text);
	inquiry->keep = (int64_t)count;
	return STATUS_OK;
}

static int
take_dry_run(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)text;
	(void)reterr;
	inquiry->dry_run = true;
	return STATUS_OK;
}

static int
take_database(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->database = text;
	return STATUS_OK;
}

static int
take_anchor(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->anchor = text;
	return STATUS_OK;
}

static int
take_format(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->format = text;
	return STATUS_OK;
}

static int
take_to(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->to = text;
	return STATUS_OK;
}

static int
take_from(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->from = text;
	return STATUS_OK;
}

static int
take_html(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)reterr;
	inquiry->html = text;
	return STATUS_OK;
}

static int
take_key(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)text;
	(void)reterr;
	inquiry->key = true;
	return STATUS_OK;
}

static int
take_json(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)text;
	(void)reterr;
	inquiry->json = true;
	return STATUS_OK;
}

static int
take_follow(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)text;
	(void)reterr;
	inquiry->follow = true;
	return STATUS_OK;
}

static int
take_help(struct inquiry *inquiry, const char *text, struct problem *reterr)
{
	(void)text;
	(void)reterr;
	inquiry->help = true;
	return STATUS_OK;
}

static const struct {
	const char *name;
	bool has_value;
	int (*take)(
	    struct inquiry *inquiry, const char *text, struct problem *reterr);
} options[] = {
	{ "--audit", true, take_database },
	{ "--since", true, take_since },
	{ "--older-than", true, take_older },
	{ "--keep", true, take_keep },
	{ "--dry-run", false, take_dry_run },
	{ "--anchor", true, take_anchor },
	{ "--format", true, take_format },
	{ "--from", true, take_from },
	{ "--to", true, take_to },
	{ "--html", true, take_html },
	{ "--key", false, take_key },
	{ "-n", true, take_count },
	{ "-f", false, take_follow },
	{ "--json", false, take_json },
	{ "--help", false, take_help },
	{ "-h", false, take_help },
};

/* Times are numbers: as text they would come behind every one. */
static void
add_value(struct inquiry *inquiry, const char *name, const char *text)
{
	struct cursor digits = cursor_of_text(text);
	uint64_t number;

	if ((strcmp(name, "t0") == 0 || strcmp(name, "t1") == 0) &&
	    cursor_decimal(&digits, INT64_MAX, &number) &&
	    cursor_is_empty(&digits))
		inquiry_add_number(inquiry, name, (int64_t)number);
	else
		inquiry_add_text(inquiry, name, text);
}

/* A word that is no option: what is asked for, then its values. */
static int
take_word(struct inquiry *inquiry, char *word, struct problem *reterr)
{
	char *equals = strchr(word, '=');

	if (inquiry->word == NULL) {
		inquiry->word = word;
		return STATUS_OK;
	}
	/* Some places are kept for what the command adds. */
	if (equals == NULL || equals == word ||
	    inquiry->value_count + KEPT_VALUES >= INQUIRY_VALUES) {
		(void)problem_set(
		    reterr, "\"%.80s\" is one word too many", word);
		return problem_cure(
		    reterr, "Quote SQL as one word; values are NAME=VALUE.");
	}
	*equals = '\0';
	add_value(inquiry, word, equals + 1);
	return STATUS_OK;
}

static int
take(struct inquiry *inquiry, char **argv, int *at, struct problem *reterr)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		const char *value = NULL;

		if (strcmp(argv[*at], options[i].name) != 0)
			continue;
		if (options[i].has_value) {
			value = argv[++*at];
			if (value == NULL)
				return problem_set(reterr, "%s wants a value",
				    options[i].name);
		}
		return options[i].take(inquiry, value, reterr);
	}
	if (argv[*at][0] == '-' && argv[*at][1] != '\0') {
		(void)problem_set(
		    reterr, "%.40s is no option of audit", argv[*at]);
		return problem_cure(reterr, "See exeat audit --help.");
	}
	return take_word(inquiry, argv[*at], reterr);
}

int
inquiry_read(struct inquiry *ret, int argc, char **argv, struct problem *reterr)
{
	struct inquiry *inquiry = ret;
	int status = STATUS_OK;

	*inquiry = (struct inquiry){ .count = INQUIRY_ROWS };
	for (int at = 1; at < argc && status == STATUS_OK; at++)
		status = take(inquiry, argv, &at, reterr);
	if (status != STATUS_OK || inquiry->help)
		return status;
	status = settings_read(&inquiry->settings, reterr);
	/* Then only the account's name is of use. */
	if (inquiry->database != NULL)
		return STATUS_OK;
	inquiry->database = inquiry->settings.audit;
	return status;
}
