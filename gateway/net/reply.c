#include "gateway/net/reply.h"

#include "schema/limits.h"
#include "schema/status.h"

#include <string.h>
#include <strings.h>

#define CLASS_IN 1

/* Flags of the header, RFC 1035 section 4.1.1. */
#define FLAG_RESPONSE 0x8000
#define FLAG_OPCODE 0x7800
#define FLAG_TRUNCATED 0x0200
#define FLAG_RECURSION_DESIRED 0x0100
#define FLAG_RCODE 0x000f

enum {
	RCODE_OK = 0,
	RCODE_NO_SUCH_NAME = 3
};

/* A pointer to a name elsewhere; its other bits say where. */
#define LABEL_POINTER 0xc0

struct record {
	uint16_t type, class;
	uint32_t ttl;
	struct cursor data;
};

static void
put_name(struct cursor_writer *out, const struct hostname *name)
{
	struct cursor rest = cursor_of(name->text, name->length), label;

	while (cursor_until(&rest, '.', &label)) {
		cursor_put_u8(out, (uint8_t)label.left);
		cursor_put(out, label.at, label.left);
	}
	cursor_put_u8(out, (uint8_t)rest.left);
	cursor_put(out, rest.at, rest.left);
	cursor_put_u8(out, 0);
}

static void
put_question(struct cursor_writer *out, const struct reply_question *question)
{
	put_name(out, &question->name);
	cursor_put_u16(out, (uint16_t)question->type);
	cursor_put_u16(out, CLASS_IN);
}

void
reply_question_write(
    const struct reply_question *question, struct cursor_writer *out)
{
	cursor_put_u16(out, question->id);
	cursor_put_u16(out, FLAG_RECURSION_DESIRED);
	cursor_put_u16(out, 1);
	cursor_put_u16(out, 0);
	cursor_put_u16(out, 0);
	cursor_put_u16(out, 0);
	put_question(out, question);
}

/* The question must come back as it was asked, in whatever case. */
static bool
take_question(struct cursor *message, const struct reply_question *question)
{
	unsigned char bytes[REPLY_QUESTION_MAX];
	struct cursor_writer wanted = cursor_writer_of(bytes, sizeof(bytes));
	struct cursor given;

	put_question(&wanted, question);
	return cursor_written(&wanted) &&
	       cursor_take(message, wanted.used, &given) &&
	       strncasecmp((const char *)given.at, (const char *)bytes,
		   wanted.used - 5) == 0 &&
	       memcmp(given.at + wanted.used - 5, bytes + wanted.used - 5, 5) ==
		   0;
}

/* Passes a name, which ends with a pointer or an empty label. */
static bool
skip_name(struct cursor *message)
{
	uint8_t length;

	while (cursor_u8(message, &length)) {
		if (length == 0)
			return true;
		if ((length & LABEL_POINTER) == LABEL_POINTER)
			return cursor_skip(message, 1);
		if (length > LIMIT_LABEL || !cursor_skip(message, length))
			return false;
	}
	return false;
}

static bool
take_record(struct cursor *message, struct record *ret)
{
	return skip_name(message) && cursor_u16(message, &ret->type) &&
	       cursor_u16(message, &ret->class) &&
	       cursor_u32(message, &ret->ttl) &&
	       cursor_block(message, &ret->data);
}

/* False when a record of the wanted type has another length than it must. */
static bool
add_record(
    struct reply *reply, const struct record *record, enum reply_type wanted)
{
	size_t length = wanted == REPLY_V4 ? 4 : 16;

	if (record->class != CLASS_IN)
		return true;
	/* RFC 2181 section 8: with the first bit set it means zero. */
	if (record->ttl > INT32_MAX)
		reply->ttl = 0;
	else if (record->ttl < reply->ttl)
		reply->ttl = record->ttl;
	if (record->type != (uint16_t)wanted)
		return true;
	if (record->data.left != length)
		return false;
	if (reply->count == REPLY_ADDRESSES)
		return true;
	reply->list[reply->count++] = wanted == REPLY_V4
					  ? address_v4(record->data.at)
					  : address_v6(record->data.at);
	return true;
}

/* What was cut may end anywhere; what was read before is as good as it is. */
static int
take_answers(struct cursor *message, unsigned count, enum reply_type wanted,
    struct reply *reply)
{
	for (unsigned i = 0; i < count; i++) {
		struct record record;

		if (!take_record(message, &record))
			return reply->truncated ? STATUS_OK : STATUS_MALFORMED;
		if (!add_record(reply, &record, wanted))
			return STATUS_MALFORMED;
	}
	return STATUS_OK;
}

static int
status_of(unsigned rcode, size_t count)
{
	if (rcode == RCODE_NO_SUCH_NAME)
		return STATUS_NOT_FOUND;
	if (rcode != RCODE_OK)
		return STATUS_SYSTEM;
	return count > 0 ? STATUS_OK : STATUS_NOT_FOUND;
}

int
reply_read(struct cursor message, const struct reply_question *question,
    struct reply *ret)
{
	struct reply reply = { .ttl = LIMIT_TTL_S };
	uint16_t id, flags, questions, answers;

	if (!cursor_u16(&message, &id) || !cursor_u16(&message, &flags) ||
	    !cursor_u16(&message, &questions) ||
	    !cursor_u16(&message, &answers) || !cursor_skip(&message, 4))
		return STATUS_MALFORMED;
	if (id != question->id || questions != 1 ||
	    (flags & (FLAG_RESPONSE | FLAG_OPCODE)) != FLAG_RESPONSE)
		return STATUS_MALFORMED;
	if (!take_question(&message, question))
		return STATUS_MALFORMED;
	reply.truncated = (flags & FLAG_TRUNCATED) != 0;
	if (take_answers(&message, answers, question->type, &reply) !=
	    STATUS_OK)
		return STATUS_MALFORMED;
	if ((flags & FLAG_RCODE) != RCODE_OK)
		reply.count = 0;
	reply.status = status_of(flags & FLAG_RCODE, reply.count);
	*ret = reply;
	return STATUS_OK;
}
