#include "gateway/flow/sigv4.h"

#include "gateway/flow/awssign.h"
#include "gateway/proto/awsauth.h"
#include "gateway/proto/awschunk.h"
#include "gateway/proto/awsform.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	HOST_MAX = LIMIT_HOST + 16,
	NAMES_MAX = 4096,
	AUTHORIZATION_MAX = NAMES_MAX + 512,
	CLOCK_S = 900 /* that a client's clock may be off */
};

/* One side's signatures: the client's to check, and ours. */
struct hand {
	unsigned char key[AWSSIGN_KEY];
	bool signs; /* it has a key */
	char previous[AWSSIGN_HEX];
};

struct sigv4 {
	char time[AWSAUTH_TIME], scope[LIMIT_GRANT_SCOPE + 32];
	size_t scope_length;
	struct hand client, ours;
	char host[HOST_MAX], length[24];
	char names[NAMES_MAX], authorization[AUTHORIZATION_MAX];

	/* Of a body that is signed in chunks. */
	bool chunked, has_trailers, trailers_signed;
	struct awschunk chunk;
	struct outbox in, data; /* not understood yet; the chunk so far */
	char digits[16];
	size_t digit_count;
	char claimed[AWSSIGN_HEX]; /* by the chunk's line */
	struct awssign_digest *digest;
};

void
sigv4_free(struct sigv4 *sigv4)
{
	if (sigv4 == NULL)
		return;
	outbox_done(&sigv4->in);
	outbox_done(&sigv4->data);
	awssign_digest_free(sigv4->digest);
	explicit_bzero(sigv4, sizeof(*sigv4));
	free(sigv4);
}

/* ---- what the client says ---- */

static int
read_auth(const struct request *head, struct awsauth *ret)
{
	struct cursor value;

	if (header_count(&head->header, "authorization") != 1 ||
	    !header_find(&head->header, "authorization", &value))
		return STATUS_NOT_FOUND;
	return awsauth_parse(value, ret);
}

void
sigv4_scope(const struct request *head, char out[LIMIT_GRANT_SCOPE + 1])
{
	struct awsauth auth;
	struct cursor_writer text = cursor_writer_of(out, LIMIT_GRANT_SCOPE);

	out[0] = '\0';
	if (read_auth(head, &auth) != STATUS_OK)
		return;
	cursor_put(&text, auth.date.at, auth.date.left);
	cursor_put_u8(&text, '/');
	cursor_put(&text, auth.region.at, auth.region.left);
	cursor_put_u8(&text, '/');
	cursor_put(&text, auth.service.at, auth.service.left);
	if (cursor_written(&text))
		out[text.used] = '\0';
	else
		out[0] = '\0';
}

static struct cursor
signing_field(const struct grant *grant, const char *name)
{
	for (size_t i = 0; i < grant->count; i++)
		if (grant->fields[i].place == GRANT_SIGNING &&
		    strcmp(grant->fields[i].name, name) == 0)
			return secret_bytes(grant->fields[i].value);
	return cursor_of(NULL, 0);
}

bool
sigv4_is_for(const struct grant *grant)
{
	return signing_field(grant, "key").left == AWSSIGN_KEY;
}

/* Seconds of a time such as 20150830T123600Z, which it is. */
static int64_t
seconds_of(struct cursor text)
{
	static const size_t digits[] = { 4, 2, 2, 2, 2, 2 };
	int parts[6] = { 0 };
	struct cursor number;
	uint64_t value;

	for (size_t i = 0; i < 6; i++) {
		if (i == 3 && !cursor_literal(&text, "T"))
			return 0;
		if (!cursor_take(&text, digits[i], &number) ||
		    !cursor_decimal(&number, 9999, &value))
			return 0;
		parts[i] = (int)value;
	}
	{
		struct tm tm = { .tm_year = parts[0] - 1900,
			.tm_mon = parts[1] - 1,
			.tm_mday = parts[2],
			.tm_hour = parts[3],
			.tm_min = parts[4],
			.tm_sec = parts[5] };

		return (int64_t)timegm(&tm);
	}
}

/* Its time, which must be of the scope's day, and now. */
static const char *
take_time(struct sigv4 *sigv4, const struct request *head,
    const struct awsauth *auth, int64_t now_s)
{
	struct cursor text;
	int64_t off;

	if (header_count(&head->header, "x-amz-date") != 1 ||
	    !header_find(&head->header, "x-amz-date", &text) ||
	    !awsauth_is_time(text) ||
	    memcmp(text.at, auth->date.at, AWSAUTH_DATE) != 0)
		return "it has no x-amz-date of the day it was signed for";
	off = seconds_of(text) - now_s;
	if (off < -CLOCK_S || off > CLOCK_S)
		return "its x-amz-date is not now";
	memcpy(sigv4->time, text.at, AWSAUTH_TIME);
	return NULL;
}

/* What stands for the payload, and so how the body is signed. */
static const char *
take_payload(
    struct sigv4 *sigv4, const struct request *head, struct cursor *ret)
{
	/* SHA-256 of nothing. */
	static const char nothing[] = "e3b0c44298fc1c149afbf4c8996fb924"
				      "27ae41e4649b934ca495991b7852b855";
	bool empty =
	    head->body.framing == MESSAGE_NO_BODY ||
	    (head->body.framing == MESSAGE_LENGTH && head->body.length == 0);

	if (!header_find(&head->header, "x-amz-content-sha256", ret)) {
		*ret = cursor_of_text(nothing);
		return empty ? NULL
			     : "it has a body and no x-amz-content-sha256";
	}
	sigv4->has_trailers =
	    cursor_equals(*ret, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER");
	sigv4->chunked =
	    sigv4->has_trailers ||
	    cursor_equals(*ret, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
	if (sigv4->chunked || ret->left == AWSSIGN_HEX ||
	    cursor_equals(*ret, "UNSIGNED-PAYLOAD") ||
	    cursor_equals(*ret, "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))
		return NULL;
	return "its payload is signed in a way that is not supported";
}

/* ---- signing ---- */

static struct awssign
sign_of(const struct sigv4 *sigv4, const struct hand *hand)
{
	return (struct awssign){ .key = cursor_of(hand->key, AWSSIGN_KEY),
		.time = cursor_of(sigv4->time, AWSAUTH_TIME),
		.scope = cursor_of(sigv4->scope, sigv4->scope_length) };
}

static bool
sign_form(const struct sigv4 *sigv4, const struct hand *hand,
    const struct awsform *form, char ret[AWSSIGN_HEX])
{
	struct awssign sign = sign_of(sigv4, hand);
	unsigned char *room = malloc(LIMIT_AWS_FORM);
	struct cursor_writer out;
	bool well;

	if (room == NULL)
		return false;
	out = cursor_writer_of(room, LIMIT_AWS_FORM);
	well = awsform_write(form, &out) == STATUS_OK &&
	       awssign_request(&sign, cursor_of(room, out.used), ret);
	free(room);
	return well;
}

/* The form of both signatures, but for names, fields and path. */
static struct awsform
begin_form(struct sigv4 *sigv4, const struct request *head,
    const struct awsauth *auth, struct cursor payload)
{
	struct cursor_writer host =
	    cursor_writer_of(sigv4->host, sizeof(sigv4->host));
	struct cursor_writer length =
	    cursor_writer_of(sigv4->length, sizeof(sigv4->length));

	authority_write(&head->authority, &host);
	if (head->body.framing == MESSAGE_LENGTH)
		cursor_put_decimal(&length, head->body.length);
	return (struct awsform){ .method = cursor_of_text(head->method),
		.rule = cursor_equals(auth->service, "s3") ? AWSFORM_ONCE
							   : AWSFORM_TWICE,
		.query = head->query,
		.host = cursor_of(sigv4->host, host.used),
		.length = cursor_of(sigv4->length, length.used),
		.payload = payload };
}

/* Whether the client's signature is that of the run's placeholder. */
static bool
verify(struct sigv4 *sigv4, const struct sigv4_order *order,
    const struct awsauth *auth, struct awsform form)
{
	if (order->placeholder == NULL)
		return true;
	form.path = order->head->path;
	form.header = &order->head->header;
	form.names = auth->names;
	sigv4->client.signs = true;
	return awssign_derive(cursor_of_text(order->placeholder), auth->scope,
		   sigv4->client.key) &&
	       sign_form(
		   sigv4, &sigv4->client, &form, sigv4->client.previous) &&
	       awssign_equals(sigv4->client.previous, auth->signature);
}

static bool
put_authorization(struct sigv4 *sigv4, const struct grant *grant,
    struct cursor names, struct request *head)
{
	struct cursor id = signing_field(grant, "id");
	struct cursor_writer out = cursor_writer_of(
	    sigv4->authorization, sizeof(sigv4->authorization));

	cursor_put_text(&out, "AWS4-HMAC-SHA256 Credential=");
	cursor_put(&out, id.at, id.left);
	cursor_put_u8(&out, '/');
	cursor_put(&out, sigv4->scope, sigv4->scope_length);
	cursor_put_text(&out, ", SignedHeaders=");
	cursor_put(&out, names.at, names.left);
	cursor_put_text(&out, ", Signature=");
	cursor_put(&out, sigv4->ours.previous, AWSSIGN_HEX);
	return cursor_written(&out) &&
	       header_set(&head->header, "authorization",
		   cursor_of(out.bytes, out.used)) == STATUS_OK;
}

/* Ours: other fields, other names, another key. */
static bool
sign_head(struct sigv4 *sigv4, const struct sigv4_order *order,
    const struct awsauth *auth, struct awsform form, struct request *head)
{
	struct cursor token = signing_field(order->grant, "token");
	struct cursor_writer names =
	    cursor_writer_of(sigv4->names, sizeof(sigv4->names));
	bool well = true;

	(void)header_drop(&head->header, "authorization");
	(void)header_drop(&head->header, "x-amz-security-token");
	if (token.left > 0)
		well = header_set(&head->header, "x-amz-security-token",
			   token) == STATUS_OK;
	memcpy(sigv4->ours.key, signing_field(order->grant, "key").at,
	    AWSSIGN_KEY);
	sigv4->ours.signs = true;
	well = well &&
	       awsform_names(&head->header, auth->names, &names) == STATUS_OK;
	form.path = order->path;
	form.header = &head->header;
	form.names = cursor_of(sigv4->names, names.used);
	return well &&
	       sign_form(sigv4, &sigv4->ours, &form, sigv4->ours.previous) &&
	       put_authorization(sigv4, order->grant, form.names, head);
}

static const char *
sign(struct sigv4 *sigv4, const struct sigv4_order *order, struct request *head)
{
	struct awsauth auth;
	struct awsform form;
	struct cursor payload;
	const char *why;

	if (awsauth_query_is_signed(order->head->query))
		return "it is a presigned URL, which whoever has it may use";
	switch (read_auth(order->head, &auth)) {
	case STATUS_OK:
		break;
	case STATUS_REFUSED:
		return "it is signed by SigV4a, which is not supported";
	default:
		return "it is not signed for AWS: give its program the "
		       "placeholder's keys";
	}
	why = take_time(sigv4, order->head, &auth, order->now_s);
	if (why == NULL)
		why = take_payload(sigv4, order->head, &payload);
	if (why != NULL)
		return why;
	if (auth.scope.left > sizeof(sigv4->scope))
		return "its scope is too long";
	memcpy(sigv4->scope, auth.scope.at, auth.scope.left);
	sigv4->scope_length = auth.scope.left;
	form = begin_form(sigv4, order->head, &auth, payload);
	if (!verify(sigv4, order, &auth, form))
		return "its signature is not one of this run's placeholder";
	*head = *order->head;
	if (!sign_head(sigv4, order, &auth, form, head))
		return "it cannot be signed anew";
	return NULL;
}

struct sigv4 *
sigv4_sign(const struct sigv4_order *order, struct request *ret_head,
    const char **ret_why)
{
	struct sigv4 *sigv4 = calloc(1, sizeof(*sigv4));

	*ret_why = "there is no memory";
	if (sigv4 == NULL)
		return NULL;
	sigv4->digest = awssign_digest_new();
	if (sigv4->digest != NULL)
		*ret_why = sign(sigv4, order, ret_head);
	if (*ret_why == NULL)
		return sigv4;
	sigv4_free(sigv4);
	return NULL;
}

bool
sigv4_signs_body(const struct sigv4 *sigv4)
{
	return sigv4->chunked;
}

bool
sigv4_is_over(const struct sigv4 *sigv4)
{
	return sigv4->chunk.state == AWSCHUNK_OVER &&
	       (!sigv4->has_trailers || sigv4->trailers_signed);
}

/* ---- chunk after chunk ---- */

/* Verifies what the client claims and signs the same of ours. */
static bool
sign_next(struct sigv4 *sigv4, struct cursor claimed, bool trailer,
    const char digest[AWSSIGN_HEX])
{
	struct hand *hands[] = { &sigv4->client, &sigv4->ours };
	struct cursor data = cursor_of(digest, AWSSIGN_HEX);

	for (int i = 0; i < 2; i++) {
		struct awssign one = sign_of(sigv4, hands[i]);
		struct cursor previous =
		    cursor_of(hands[i]->previous, AWSSIGN_HEX);
		char next[AWSSIGN_HEX];
		bool well;

		if (!hands[i]->signs)
			continue;
		well = trailer ? awssign_trailer(&one, previous, data, next)
			       : awssign_chunk(&one, previous, data, next);
		if (!well || (i == 0 && !awssign_equals(next, claimed)))
			return false;
		memcpy(hands[i]->previous, next, AWSSIGN_HEX);
	}
	return true;
}

static bool
put_text(struct outbox *out, const char *text)
{
	return outbox_put(out, cursor_of_text(text));
}

static int
end_chunk(struct sigv4 *sigv4, struct outbox *out)
{
	struct cursor data = outbox_bytes(&sigv4->data);
	char digest[AWSSIGN_HEX];

	if (!awssign_digest_take(sigv4->digest, digest) ||
	    !sign_next(
		sigv4, cursor_of(sigv4->claimed, AWSSIGN_HEX), false, digest))
		return STATUS_MALFORMED;
	if (!outbox_put(out, cursor_of(sigv4->digits, sigv4->digit_count)) ||
	    !put_text(out, ";chunk-signature=") ||
	    !outbox_put(out, cursor_of(sigv4->ours.previous, AWSSIGN_HEX)) ||
	    !put_text(out, "\r\n") || !outbox_put(out, data))
		return STATUS_FULL;
	if (data.left > 0) {
		outbox_eat(&sigv4->data, data.left);
		if (!put_text(out, "\r\n"))
			return STATUS_FULL;
	}
	return STATUS_OK;
}

static int
begin_chunk(
    struct sigv4 *sigv4, const struct awschunk_part *part, struct outbox *out)
{
	if (part->size > LIMIT_AWS_CHUNK ||
	    part->digits.left > sizeof(sigv4->digits))
		return STATUS_FULL;
	memcpy(sigv4->digits, part->digits.at, part->digits.left);
	sigv4->digit_count = part->digits.left;
	memcpy(sigv4->claimed, part->signature.at, AWSSIGN_HEX);
	/* The last one has no bytes, and no end of its own. */
	return part->size == 0 ? end_chunk(sigv4, out) : STATUS_OK;
}

static struct cursor
without_blanks(struct cursor text)
{
	while (text.left > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.left--;
	}
	while (text.left > 0 && (text.at[text.left - 1] == ' ' ||
				    text.at[text.left - 1] == '\t'))
		text.left--;
	return text;
}

static int
sign_trailers(struct sigv4 *sigv4, struct cursor claimed, struct outbox *out)
{
	char digest[AWSSIGN_HEX];

	if (sigv4->trailers_signed ||
	    !awssign_digest_take(sigv4->digest, digest) ||
	    !sign_next(sigv4, claimed, true, digest))
		return STATUS_MALFORMED;
	sigv4->trailers_signed = true;
	if (!put_text(out, "x-amz-trailer-signature:") ||
	    !outbox_put(out, cursor_of(sigv4->ours.previous, AWSSIGN_HEX)) ||
	    !put_text(out, "\r\n"))
		return STATUS_FULL;
	return STATUS_OK;
}

static int
take_trailer(
    struct sigv4 *sigv4, const struct awschunk_part *part, struct outbox *out)
{
	struct cursor value = without_blanks(part->value);
	unsigned char line[LIMIT_AWS_LINE + 4];
	struct cursor_writer text = cursor_writer_of(line, sizeof(line));

	if (!sigv4->has_trailers || sigv4->trailers_signed)
		return STATUS_MALFORMED;
	if (header_is(part->name, "x-amz-trailer-signature"))
		return sign_trailers(sigv4, value, out);
	for (size_t i = 0; i < part->name.left; i++) {
		uint8_t byte = part->name.at[i];

		if (byte >= 'A' && byte <= 'Z')
			byte = (uint8_t)(byte + ('a' - 'A'));
		cursor_put_u8(&text, byte);
	}
	cursor_put_u8(&text, ':');
	cursor_put(&text, value.at, value.left);
	cursor_put_u8(&text, '\n');
	if (!cursor_written(&text) ||
	    !awssign_digest_put(sigv4->digest, cursor_of(line, text.used)))
		return STATUS_MALFORMED;
	/* As it was sent, since its length counts. */
	if (!outbox_put(out, part->name) || !put_text(out, ":") ||
	    !outbox_put(out, part->value) || !put_text(out, "\r\n"))
		return STATUS_FULL;
	return STATUS_OK;
}

static int
take_part(struct sigv4 *sigv4, enum awschunk_what what,
    const struct awschunk_part *part, struct outbox *out)
{
	switch (what) {
	case AWSCHUNK_LINE:
		return begin_chunk(sigv4, part, out);
	case AWSCHUNK_DATA:
		if (!awssign_digest_put(sigv4->digest, part->bytes))
			return STATUS_MALFORMED;
		return outbox_put(&sigv4->data, part->bytes) ? STATUS_OK
							     : STATUS_FULL;
	case AWSCHUNK_DATA_END:
		return end_chunk(sigv4, out);
	case AWSCHUNK_TRAILER:
		return take_trailer(sigv4, part, out);
	case AWSCHUNK_END:
		return put_text(out, "\r\n") ? STATUS_OK : STATUS_FULL;
	case AWSCHUNK_MORE:
	case AWSCHUNK_BAD:
		break;
	}
	return STATUS_MALFORMED;
}

int
sigv4_body(struct sigv4 *sigv4, struct cursor bytes, struct outbox *out)
{
	struct awschunk_part part;
	enum awschunk_what what;
	struct cursor in;
	size_t before;
	int status = STATUS_OK;

	if (!outbox_put(&sigv4->in, bytes))
		return STATUS_FULL;
	in = outbox_bytes(&sigv4->in);
	before = in.left;
	while (status == STATUS_OK && (what = awschunk_step(&sigv4->chunk, &in,
					   &part)) != AWSCHUNK_MORE)
		status = take_part(sigv4, what, &part, out);
	outbox_eat(&sigv4->in, before - in.left);
	return status;
}
