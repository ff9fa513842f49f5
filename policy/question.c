#include "policy/question.h"

#include "policy/idn.h"
#include "policy/instant.h"
#include "schema/status.h"

#include <string.h>

struct scheme {
	const char *name; /* with its "://" */
	enum fact_protocol protocol;
	enum stage stage; /* the last one that such an attempt has */
	uint16_t port; /* 0: it must be written */
	bool tls, websocket;
};

static const struct scheme schemes[] = {
	{ "https://", FACT_PROTOCOL_HTTP, STAGE_REQUEST, 443, true, false },
	{ "http://", FACT_PROTOCOL_HTTP, STAGE_REQUEST, 80, false, false },
	{ "wss://", FACT_PROTOCOL_HTTP, STAGE_REQUEST, 443, true, true },
	{ "ws://", FACT_PROTOCOL_HTTP, STAGE_REQUEST, 80, false, true },
	{ "ssh://", FACT_PROTOCOL_SSH, STAGE_HELLO, 22, false, false },
	{ "tcp://", FACT_PROTOCOL_TCP, STAGE_HELLO, 0, false, false },
	{ "udp://", FACT_PROTOCOL_UDP, STAGE_CONNECT, 0, false, false },
};

static const struct scheme *
take_scheme(struct cursor *url)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (cursor_literal(url, schemes[i].name))
			return &schemes[i];
	return NULL;
}

/* What stands before the first of the bytes that end an authority. */
static struct cursor
take_authority(struct cursor *url)
{
	struct cursor authority = cursor_of(url->at, 0);
	uint8_t byte;

	while (cursor_peek(url, &byte) && strchr("/?#", byte) == NULL &&
	       cursor_skip(url, 1))
		authority.left++;
	return authority;
}

static int
read_name_or_address(struct cursor host, struct facts *facts)
{
	const char *text = (const char *)host.at;

	if (address_parse(text, host.left, &facts->literal) == STATUS_OK)
		return STATUS_OK;
	facts->by_name = true;
	return idn_to_hostname(text, host.left, &facts->host);
}

static int
read_host(struct cursor *authority, struct facts *facts)
{
	struct cursor at = *authority, host;

	if (cursor_literal(&at, "[")) {
		if (!cursor_until(&at, ']', &host) ||
		    address_parse((const char *)host.at, host.left,
			&facts->literal) != STATUS_OK)
			return STATUS_MALFORMED;
		*authority = at;
		return STATUS_OK;
	}
	if (!cursor_until(&at, ':', &host)) {
		host = at;
		at.left = 0;
	} else {
		/* The colon stays for the port. */
		at = cursor_of(at.at - 1, at.left + 1);
	}
	*authority = at;
	return read_name_or_address(host, facts);
}

static int
read_authority(struct cursor authority, const struct scheme *scheme,
    struct facts *facts, struct problem *reterr)
{
	uint64_t port = scheme->port;

	if (read_host(&authority, facts) != STATUS_OK) {
		(void)problem_set(
		    reterr, "the host of this URL is no name and no address");
		return problem_cure(reterr,
		    "write it as in https://api.example.com/, without a user");
	}
	if (cursor_literal(&authority, ":") &&
	    !cursor_decimal(&authority, UINT16_MAX, &port))
		port = 0;
	if (!cursor_is_empty(&authority) || port == 0) {
		(void)problem_set(reterr, "this URL has no usable port");
		return problem_cure(
		    reterr, "write it behind the host, as in tcp://db:5432");
	}
	facts->port = (uint16_t)port;
	return STATUS_OK;
}

/* A URL without a path asks for "/", whatever its query. */
static int
read_target(struct cursor target, struct question *q, struct problem *reterr)
{
	struct cursor path = target;
	int status;

	if (cursor_is_empty(&target) || target.at[0] == '?')
		path = cursor_of_text("/");
	status = urlpath_parse(path, &q->path, &q->facts.query);
	if (status != STATUS_OK)
		return problem_set(reterr,
		    "the path of this URL can be read in more than one way, "
		    "such a request is refused as ambiguous");
	if (cursor_literal(&target, "?"))
		q->facts.query = target;
	q->facts.path = &q->path;
	return STATUS_OK;
}

static int
read_url(struct cursor url, struct question *q, struct problem *reterr)
{
	const struct scheme *scheme = take_scheme(&url);
	int status;

	if (scheme == NULL) {
		(void)problem_set(reterr, "this is no URL that Exeat knows");
		return problem_cure(reterr,
		    "write https://, http://, wss://, ws://, ssh://, tcp:// "
		    "or udp:// before the host");
	}
	status =
	    read_authority(take_authority(&url), scheme, &q->facts, reterr);
	if (status != STATUS_OK)
		return status;
	q->facts.protocol = scheme->protocol;
	q->facts.stage = scheme->stage;
	q->tls = scheme->tls;
	if (scheme->websocket)
		q->facts.upgrade = cursor_of_text("websocket");
	if (scheme->stage == STAGE_REQUEST)
		return read_target(url, q, reterr);
	if (!cursor_is_empty(&url) && !cursor_equals(url, "/"))
		return problem_set(
		    reterr, "only HTTP has a path, and this is not HTTP");
	return STATUS_OK;
}

/* What is not known yet at the stage that the question names. */
static void
forget_later(struct question *q, enum stage stage)
{
	struct facts *facts = &q->facts;

	if (stage >= facts->stage)
		return;
	facts->stage = stage;
	facts->path = NULL;
	facts->method = NULL;
	facts->query = cursor_of("", 0);
	facts->upgrade = cursor_of("", 0);
	if (stage < STAGE_HELLO)
		facts->protocol = FACT_PROTOCOL_UNKNOWN;
	/* Then only its outside is known. */
	else if (q->tls)
		facts->protocol = FACT_PROTOCOL_TLS;
	if (stage < STAGE_CONNECT)
		facts->port = 0;
	facts->message = FACT_MESSAGE_UNKNOWN;
}

/* The word for one stage, "!" behind it when nothing more comes. */
static bool
read_stage(struct cursor word, enum stage *ret, bool *ret_last)
{
	for (int i = 0; i < STAGE_COUNT; i++) {
		struct cursor rest = word;

		if (!cursor_literal(&rest, "@") ||
		    !cursor_literal(&rest, stage_name((enum stage)i)))
			continue;
		*ret_last = cursor_literal(&rest, "!");
		*ret = (enum stage)i;
		return cursor_is_empty(&rest);
	}
	return false;
}

static int
read_method(struct cursor word, struct question *q, struct problem *reterr)
{
	if (word.left == 0 || word.left > LIMIT_HTTP_METHOD ||
	    memchr(word.at, ':', word.left) != NULL) {
		(void)problem_set(reterr, "a question names one URL");
		return problem_cure(
		    reterr, "write it as in GET https://api.example.com/v1");
	}
	memcpy(q->method, word.at, word.left);
	q->method[word.left] = '\0';
	return STATUS_OK;
}

static bool
take_upgrade(struct question *q, struct cursor value)
{
	q->facts.upgrade = value;
	return true;
}

static bool
take_time(struct question *q, struct cursor value)
{
	return instant_parse(value, &q->facts.now_us) == STATUS_OK;
}

/*
 * Undoes what is encoded, where it stands in the question's own text: what
 * comes of it is never longer.  False when it is not encoded well.
 */
static bool
decode(struct question *q, struct cursor value, struct cursor *ret)
{
	char *to = q->text + ((const char *)value.at - q->text);
	struct cursor_writer out = cursor_writer_of(to, value.left);
	struct cursor digits;
	uint64_t code;
	uint8_t byte;

	while (cursor_u8(&value, &byte)) {
		code = byte;
		if (byte == '%' && (!cursor_take(&value, 2, &digits) ||
				       !cursor_hex(&digits, 255, &code) ||
				       !cursor_is_empty(&digits)))
			return false;
		cursor_put_u8(&out, (uint8_t)code);
	}
	*ret = cursor_of(to, out.used);
	return true;
}

/* The blank behind the word, or the text's own end, makes room for a NUL. */
static bool
take_exe(struct question *q, struct cursor value)
{
	size_t start = (size_t)((const char *)value.at - q->text);
	struct cursor path;

	if (!decode(q, value, &path) || path.left == 0 ||
	    memchr(path.at, '\0', path.left) != NULL)
		return false;
	q->text[start + path.left] = '\0';
	q->facts.exe = (const char *)path.at;
	return true;
}

static bool
take_sha256(struct question *q, struct cursor value)
{
	if (!exematch_parse_hash(value, q->exe_sha256))
		return false;
	q->facts.exe_sha256 = q->exe_sha256;
	return true;
}

static bool
take_mcp(struct question *q, struct cursor value)
{
	q->facts.message = FACT_MESSAGE_MCP;
	return decode(q, value, &q->facts.mcp_method);
}

static bool
take_tool(struct question *q, struct cursor value)
{
	return q->facts.message == FACT_MESSAGE_MCP &&
	       decode(q, value, &q->facts.mcp_tool);
}

static const struct {
	const char *name;
	bool (*take)(struct question *q, struct cursor value);
} options[] = {
	{ "upgrade=", take_upgrade },
	{ "at=", take_time },
	{ "exe=", take_exe },
	{ "sha256=", take_sha256 },
	{ "mcp=", take_mcp },
	{ "tool=", take_tool },
};

static int
read_option(struct cursor word, struct question *q, struct problem *reterr)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (cursor_literal(&word, options[i].name)) {
			if (options[i].take(q, word))
				return STATUS_OK;
			(void)problem_set(reterr,
			    "what stands behind \"%s\" cannot be read",
			    options[i].name);
			return problem_cure(reterr,
			    "write at=2026-03-01T09:00:00Z, exe=/usr/bin/git, "
			    "mcp=tools/call tool=NAME");
		}
	(void)problem_set(reterr, "there is a word too many in this question");
	return problem_cure(reterr,
	    "behind the URL stand upgrade=TOKEN, at=TIME, exe=PATH, "
	    "sha256=DIGITS, mcp=METHOD and tool=NAME");
}

static bool
next_word(struct cursor *words, struct cursor *ret)
{
	while (cursor_literal(words, " "))
		;
	if (cursor_is_empty(words))
		return false;
	if (!cursor_until(words, ' ', ret)) {
		*ret = *words;
		words->left = 0;
	}
	return true;
}

static int
read_words(struct cursor words, struct question *q, struct problem *reterr)
{
	enum stage stage = STAGE_REQUEST;
	struct cursor word = { 0 };
	bool more = next_word(&words, &word);
	bool last = true;
	int status = STATUS_OK;

	q->facts.message = FACT_MESSAGE_NONE;
	if (more && read_stage(word, &stage, &last)) {
		more = next_word(&words, &word);
		if (!last)
			q->facts.message = FACT_MESSAGE_UNKNOWN;
	}
	if (more && memchr(word.at, '/', word.left) == NULL) {
		status = read_method(word, q, reterr);
		if (!next_word(&words, &word))
			word.left = 0;
	}
	if (status == STATUS_OK)
		status = read_url(word, q, reterr);
	while (status == STATUS_OK && next_word(&words, &word))
		status = read_option(word, q, reterr);
	if (status != STATUS_OK)
		return status;
	q->facts.last = last;
	q->facts.method = q->facts.stage == STAGE_REQUEST ? q->method : NULL;
	forget_later(q, stage);
	return STATUS_OK;
}

int
question_read(struct cursor words, int64_t now_us, struct question *ret,
    struct problem *reterr)
{
	if (words.left >= sizeof(ret->text))
		return problem_set(reterr, "this question is too long");
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->text, words.at, words.left);
	ret->facts.now_us = now_us;
	ret->facts.query = cursor_of("", 0);
	ret->facts.upgrade = cursor_of("", 0);
	memcpy(ret->method, "GET", 4);
	return read_words(cursor_of(ret->text, words.left), ret, reterr);
}
