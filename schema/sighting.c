#include "schema/sighting.h"

#include "schema/status.h"

static void
write_endpoint(const struct endpoint *endpoint, struct cursor_writer *out)
{
	cursor_put_u8(out, endpoint->address.length);
	cursor_put(out, endpoint->address.bytes, endpoint->address.length);
	cursor_put_u16(out, endpoint->port);
}

static bool
read_endpoint(struct cursor *body, struct endpoint *ret)
{
	struct endpoint endpoint = { .port = 0 };
	uint8_t length;

	if (!cursor_u8(body, &length) || (length != 4 && length != 16) ||
	    !cursor_copy(body, length, endpoint.address.bytes) ||
	    !cursor_u16(body, &endpoint.port))
		return false;
	endpoint.address.length = length;
	*ret = endpoint;
	return true;
}

void
sighting_question_write(
    const struct sighting_question *question, struct cursor_writer *out)
{
	cursor_put_u64(out, question->number);
	cursor_put_u8(out, (uint8_t)question->transport);
	cursor_put_u8(out, question->digest ? 1 : 0);
	write_endpoint(&question->from, out);
	write_endpoint(&question->to, out);
}

int
sighting_question_read(struct cursor body, struct sighting_question *ret)
{
	struct sighting_question question = { .number = 0 };
	uint8_t transport, digest;

	if (!cursor_u64(&body, &question.number) ||
	    !cursor_u8(&body, &transport) ||
	    transport >= SIGHTING_TRANSPORT_COUNT ||
	    !cursor_u8(&body, &digest) || digest > 1 ||
	    !read_endpoint(&body, &question.from) ||
	    !read_endpoint(&body, &question.to) || !cursor_is_empty(&body))
		return STATUS_MALFORMED;
	question.transport = (enum sighting_transport)transport;
	question.digest = digest == 1;
	*ret = question;
	return STATUS_OK;
}

void
sighting_write(const struct sighting *sighting, struct cursor_writer *out)
{
	cursor_put_u64(out, sighting->number);
	cursor_put_u32(out, sighting->pid);
	cursor_put_string(out, sighting->exe);
	cursor_put_string(out, sighting->argv);
	cursor_put_block(out, sighting->digest,
	    sighting->has_digest ? sizeof(sighting->digest) : 0);
}

int
sighting_read(struct cursor body, struct sighting *ret)
{
	struct sighting sighting = { .number = 0 };
	struct cursor digest;

	if (!cursor_u64(&body, &sighting.number) ||
	    !cursor_u32(&body, &sighting.pid) ||
	    !cursor_string(&body, sighting.exe, sizeof(sighting.exe)) ||
	    !cursor_string(&body, sighting.argv, sizeof(sighting.argv)) ||
	    !cursor_block(&body, &digest) || !cursor_is_empty(&body) ||
	    (digest.left != 0 && digest.left != SIGHTING_DIGEST))
		return STATUS_MALFORMED;
	sighting.has_digest = digest.left > 0;
	if (sighting.has_digest &&
	    !cursor_copy(&digest, SIGHTING_DIGEST, sighting.digest))
		return STATUS_MALFORMED;
	*ret = sighting;
	return STATUS_OK;
}
