#include "broker/issued.h"

#include "broker/parcel.h"
#include "schema/status.h"

#include <string.h>
#include <time.h>

enum {
	MS_A_SECOND = 1000,
	/* RFC 6749 recommends a life and does not demand it. */
	LIFE_UNKNOWN_S = 300,
	/* Longer than that nobody keeps a run, and a grant none. */
	LIFE_MOST_S = 86400
};

void
issued_want(struct parcel *parcel)
{
	parcel_want(parcel, "error", "error");
	parcel_want(parcel, "error_description", "error_description");
	parcel_want(parcel, "message", "message");
	parcel_want(parcel, "google", "error/message");
	parcel_want(parcel, "vault", "errors/0");
	parcel_want(parcel, "aws", "Error/Code");
}

enum mint_step
issued_send(struct mint_work *work, struct parcel *parcel)
{
	struct errand *errand = parcel_errand(parcel);

	if (errand == NULL)
		return mint_refuse(work,
		    "the question for %s does not fit an exchange",
		    work->credential->name);
	work->errand = errand;
	return MINT_ERRAND;
}

/* The issuer's own words, without what could not stand in a line. */
static void
quote(const struct errand_answer *answer, char out[200])
{
	static const char *const names[] = { "error_description", "message",
		"google", "vault", "aws", "error" };
	struct cursor words = cursor_of(NULL, 0);
	size_t length = 0;
	uint8_t byte;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (errand_answer_find(answer, names[i], &words))
			break;
	while (length + 1 < 200 && cursor_u8(&words, &byte))
		out[length++] = (char)(byte >= ' ' && byte <= '~' ? byte : '?');
	out[length] = '\0';
}

bool
issued_well(struct mint_work *work, const struct errand_answer *answer)
{
	const char *name = work->credential->name;
	char words[200];

	if (answer->end != ERRAND_ANSWERED) {
		(void)mint_refuse(work, "the issuer of %s: %s%s%s", name,
		    errand_end_words(answer->end),
		    answer->cause[0] == '\0' ? "" : ": ", answer->cause);
		return false;
	}
	if (answer->status >= 200 && answer->status <= 299)
		return true;
	quote(answer, words);
	(void)mint_refuse(work, "the issuer of %s says no (%u%s%s)", name,
	    answer->status, words[0] == '\0' ? "" : ": ", words);
	/* Some issuers repeat in them what they were sent. */
	work->quotes = words[0] != '\0';
	return false;
}

static uint32_t
life_of(int64_t seconds)
{
	if (seconds > LIFE_MOST_S)
		seconds = LIFE_MOST_S;
	return (uint32_t)(seconds * MS_A_SECOND);
}

uint32_t
issued_life(const struct errand_answer *answer, const char *name)
{
	struct cursor text;
	uint64_t seconds;

	if (!errand_answer_find(answer, name, &text) ||
	    !cursor_decimal(&text, UINT32_MAX, &seconds) || text.left > 0 ||
	    seconds == 0)
		return life_of(LIFE_UNKNOWN_S);
	return life_of((int64_t)seconds);
}

/* So many decimal digits, and what stands behind them. */
static bool
take_number(struct cursor *text, size_t digits, const char *behind, int *ret)
{
	struct cursor number;
	uint64_t value;

	if (!cursor_take(text, digits, &number) ||
	    !cursor_decimal(&number, 9999, &value) || number.left > 0 ||
	    !cursor_literal(text, behind))
		return false;
	*ret = (int)value;
	return true;
}

uint32_t
issued_until(struct cursor text, int64_t now_s)
{
	struct tm when = { .tm_isdst = 0 };
	int64_t seconds;

	if (!take_number(&text, 4, "-", &when.tm_year) ||
	    !take_number(&text, 2, "-", &when.tm_mon) ||
	    !take_number(&text, 2, "T", &when.tm_mday) ||
	    !take_number(&text, 2, ":", &when.tm_hour) ||
	    !take_number(&text, 2, ":", &when.tm_min) ||
	    !take_number(&text, 2, "", &when.tm_sec) ||
	    !cursor_equals(text, "Z"))
		return 0;
	when.tm_year -= 1900;
	when.tm_mon -= 1;
	seconds = (int64_t)timegm(&when) - now_s;
	return seconds <= 0 ? 0 : life_of(seconds);
}

enum mint_step
issued_header(struct mint_work *work, const char *name, const char *first,
    struct cursor second)
{
	size_t length = strlen(first);
	struct secret *value = secret_room(length + second.left);

	if (value != NULL) {
		memcpy(secret_fill(value), first, length);
		if (second.left > 0)
			memcpy(secret_fill(value) + length, second.at,
			    second.left);
	}
	if (grant_add(work->grant, GRANT_HEADER, name, value) != STATUS_OK)
		return mint_refuse(work,
		    "what was issued for %s cannot stand in a request",
		    work->credential->name);
	return MINT_GRANTED;
}

enum mint_step
issued_bearer(struct mint_work *work, const struct errand_answer *answer,
    const char *name, uint32_t life_ms)
{
	struct cursor token;

	if (!errand_answer_find(answer, name, &token) || token.left == 0)
		return mint_refuse(work,
		    "the issuer of %s answered without a token",
		    work->credential->name);
	if (life_ms == 0)
		return mint_refuse(work,
		    "what was issued for %s is over already",
		    work->credential->name);
	work->grant->lease_ms = life_ms;
	return issued_header(work, "authorization", "Bearer ", token);
}
