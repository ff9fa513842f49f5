/*
 * The files in vectors/good and vectors/bad are messages byte by byte.
 *
 * good/KIND.WHAT is read; what becomes of it stands in good/KIND.WHAT.out: for
 * heads what goes out instead, for bodies the payload and the trailers, for
 * others what was understood.  bad/KIND.FAULT.WHAT is refused for that fault,
 * where its kind tells faults apart.  Each message is also given cut off at
 * every length: the start of a good one is never bad, that of a bad one never
 * good.
 */
#include "gateway/proto/clienthello.h"
#include "gateway/proto/dns.h"
#include "gateway/proto/http1.h"
#include "gateway/proto/http1_body.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_MAX 131072

struct vector {
	const char *name; /* behind the kind */
	unsigned char bytes[FILE_MAX];
	size_t length;
	enum head_fault fault; /* of the last try, where there are faults */
};

static unsigned char written[FILE_MAX];

static size_t
load(int folder, const char *name, unsigned char *out)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		fail_msg("no file %s", name);
	got = read(fd, out, FILE_MAX);
	assert_int_equal(close(fd), 0);
	assert_in_range(got, 0, FILE_MAX - 1);
	return (size_t)got;
}

/* Bytes in a block of their own, so that a sanitizer sees their end. */
static struct cursor
exactly(const unsigned char *bytes, size_t length, unsigned char **ret_block)
{
	unsigned char *block = malloc(length == 0 ? 1 : length);

	assert_non_null(block);
	memcpy(block, bytes, length);
	*ret_block = block;
	return cursor_of(block, length);
}

/* ---- requests ---- */

static enum parse_result
parse_request(struct vector *vector, size_t length, struct cursor_writer *out)
{
	unsigned char *block;
	struct cursor bytes = exactly(vector->bytes, length, &block);
	struct request request;
	enum parse_result result =
	    http1_request_parse(bytes, &request, &vector->fault);
	enum http1_connection connection = HTTP1_KEEP;

	if (result == PARSE_OK && out != NULL) {
		assert_in_range(request.length, 1, length);
		if (!request.keep_alive)
			connection = HTTP1_CLOSE;
		if (request.upgrade.left > 0)
			connection = HTTP1_UPGRADE;
		http1_request_write(&request, request.path, connection, out);
	}
	free(block);
	return result;
}

/* ---- responses: the name begins with the method ---- */

static enum parse_result
parse_response(struct vector *vector, size_t length, struct cursor_writer *out)
{
	bool head = strncmp(vector->name, "HEAD.", 5) == 0;
	enum http1_connection connection = HTTP1_KEEP;
	unsigned char *block;
	struct cursor bytes = exactly(vector->bytes, length, &block);
	struct response response;
	enum parse_result result = http1_response_parse(
	    bytes, head ? "HEAD" : "GET", &response, &vector->fault);

	if (result == PARSE_OK && out != NULL) {
		assert_in_range(response.length, 1, length);
		if (!response.keep_alive)
			connection = HTTP1_CLOSE;
		if (response.upgrade.left > 0)
			connection = HTTP1_UPGRADE;
		http1_response_write(&response, connection, out);
	}
	free(block);
	return result;
}

/* ---- bodies ---- */

/* Reads all there is; *used is how far it came. */
static enum parse_result
read_body(struct http1_body *body, struct cursor bytes, size_t *used,
    struct cursor_writer *out)
{
	struct cursor rest = bytes, slice;
	struct header trailers;
	enum parse_result result;

	do {
		result = http1_body_read(body, &rest, &slice, &trailers);
		if (result == PARSE_MORE)
			cursor_put(out, slice.at, slice.left);
	} while (result == PARSE_MORE && slice.left > 0);
	*used = bytes.left - rest.left;
	if (result == PARSE_OK) {
		cursor_put_u8(out, '|');
		header_write(&trailers, out);
	}
	return result;
}

static enum parse_result
parse_chunked(struct vector *vector, size_t length, struct cursor_writer *out)
{
	struct message_body chunked = { .framing = MESSAGE_CHUNKED };
	struct http1_body body = http1_body_of(chunked);
	struct cursor_writer ignored = cursor_writer_of(NULL, 0);
	unsigned char *block;
	struct cursor bytes = exactly(vector->bytes, length, &block);
	size_t used;
	enum parse_result result;

	result = read_body(&body, bytes, &used, out == NULL ? &ignored : out);
	free(block);
	if (result == PARSE_OK)
		assert_true(http1_body_may_end(&body));
	else
		assert_false(http1_body_may_end(&body));
	return result;
}

/* ---- hellos ---- */

static void
put_flag(struct cursor_writer *out, const char *name, uint64_t value)
{
	cursor_put_text(out, name);
	cursor_put_decimal(out, value);
}

static void
describe_hello(const struct clienthello *hello, struct cursor_writer *out)
{
	char version[8];

	assert_true(snprintf(version, sizeof(version), "%04x",
			(unsigned)hello->version) < 8);
	cursor_put_text(out, "sni=");
	cursor_put_text(
	    out, hostname_is_set(&hello->sni) ? hello->sni.text : "-");
	cursor_put_text(out, " version=");
	cursor_put_text(out, version);
	cursor_put_text(out, " alpn=");
	for (size_t i = 0; i < hello->alpn_count; i++) {
		cursor_put_text(out, i == 0 ? "" : ",");
		cursor_put_text(out, hello->alpn[i].text);
	}
	cursor_put_text(out, hello->alpn_count == 0 ? "-" : "");
	put_flag(out, " ech=", hello->ech ? 1 : 0);
	put_flag(out, " length=", hello->length);
	cursor_put_text(out, "\n");
}

static enum parse_result
parse_hello(struct vector *vector, size_t length, struct cursor_writer *out)
{
	unsigned char *block;
	struct cursor bytes = exactly(vector->bytes, length, &block);
	struct clienthello hello;
	enum parse_result result = clienthello_parse(bytes, &hello);

	if (result == PARSE_OK && out != NULL)
		describe_hello(&hello, out);
	free(block);
	return result;
}

/* ---- DNS queries, which are never read in part ---- */

static void
describe_query(const struct dns_query *query, struct cursor_writer *out)
{
	char name[DNS_NAME_TEXT_MAX], type[DNS_TYPE_TEXT_MAX];

	dns_name_print(query, name);
	dns_type_print(query->type, type);
	put_flag(out, "fault=", query->fault);
	cursor_put_text(out, " name=");
	cursor_put_text(out, name);
	cursor_put_text(out, " host=");
	cursor_put_text(
	    out, hostname_is_set(&query->host) ? query->host.text : "-");
	cursor_put_text(out, " type=");
	cursor_put_text(out, type);
	put_flag(out, " class=", query->class);
	put_flag(out, " rd=", query->recursion_desired ? 1 : 0);
	put_flag(out, " cd=", query->checking_disabled ? 1 : 0);
	put_flag(out, " edns=", query->edns ? 1 : 0);
	put_flag(out, " size=", query->udp_size);
	put_flag(out, " do=", query->dnssec_ok ? 1 : 0);
	cursor_put_text(out, "\n");
}

/* What is wrong with the query as a whole. */
static enum dns_rcode
whole_fault(const struct vector *vector)
{
	struct dns_query query;

	if (dns_query_parse(cursor_of(vector->bytes, vector->length), &query) !=
	    STATUS_OK)
		return DNS_FORMERR;
	return query.fault;
}

static enum parse_result
parse_dns(struct vector *vector, size_t length, struct cursor_writer *out)
{
	unsigned char *block;
	struct cursor bytes = exactly(vector->bytes, length, &block);
	struct dns_query query;
	int status = dns_query_parse(bytes, &query);

	free(block);
	if (status == STATUS_OK && out != NULL)
		describe_query(&query, out);
	if (length == vector->length)
		return status == STATUS_OK ? PARSE_OK : PARSE_BAD;
	/* A query that lost bytes is no query; a faulty one may gain. */
	if (status == STATUS_OK && query.fault == DNS_NOERROR)
		assert_int_not_equal(whole_fault(vector), DNS_NOERROR);
	return PARSE_MORE;
}

/* ---- walking ---- */

static const struct kind {
	const char *name;
	enum parse_result (*parse)(
	    struct vector *vector, size_t length, struct cursor_writer *out);
	bool has_fault;
} kinds[] = {
	{ "request.", parse_request, true },
	{ "response.", parse_response, true },
	{ "chunked.", parse_chunked, false },
	{ "hello.", parse_hello, false },
	{ "dns.", parse_dns, false },
};

static const struct kind *
kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(name, kinds[i].name, strlen(kinds[i].name)) == 0)
			return &kinds[i];
	fail_msg("%s has a kind that is not known", name);
	return NULL;
}

static void
try_good(int folder, const char *name)
{
	static struct vector vector;
	static unsigned char expected[FILE_MAX];
	const struct kind *kind = kind_of(name);
	struct cursor_writer out = cursor_writer_of(written, sizeof(written));
	enum parse_result result;
	char path[300];
	size_t length;

	assert_true(snprintf(path, sizeof(path), "%s.out", name) < 300);
	length = load(folder, path, expected);
	vector.name = name + strlen(kind->name);
	vector.length = load(folder, name, vector.bytes);
	result = kind->parse(&vector, vector.length, &out);
	if (result != PARSE_OK)
		fail_msg("%s: %s", name, head_fault_id(vector.fault));
	if (out.used != length || memcmp(written, expected, length) != 0)
		fail_msg("%s became\n%.*s", name, (int)out.used,
		    (const char *)written);
	for (size_t cut = 0; cut < vector.length; cut++)
		if (kind->parse(&vector, cut, NULL) == PARSE_BAD)
			fail_msg("%s is bad at %zu", name, cut);
}

static void
try_bad(int folder, const char *name)
{
	static struct vector vector;
	const struct kind *kind = kind_of(name);
	const char *id;

	vector.name = name + strlen(kind->name);
	vector.length = load(folder, name, vector.bytes);
	if (kind->parse(&vector, vector.length, NULL) != PARSE_BAD)
		fail_msg("%s is not refused", name);
	id = head_fault_id(vector.fault);
	if (kind->has_fault && (strncmp(vector.name, id, strlen(id)) != 0 ||
				   vector.name[strlen(id)] != '.'))
		fail_msg("%s is refused for %s", name, id);
	/* Large ones are cut less finely, for time alone. */
	for (size_t cut = 0;
	     cut<vector.length; cut += vector.length> 20000 ? 997 : 1)
		if (kind->parse(&vector, cut, NULL) == PARSE_OK)
			fail_msg("%s is good at %zu", name, cut);
}

static size_t
walk(const char *path, void (*try)(int folder, const char *name))
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	while ((entry = readdir(folder)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (entry->d_name[0] == '.' ||
		    (length > 4 &&
			strcmp(entry->d_name + length - 4, ".out") == 0))
			continue;
		try(dirfd(folder), entry->d_name);
		count++;
	}
	(void)closedir(folder);
	return count;
}

static void
good_messages_go_out_as_expected(void **state)
{
	(void)state;
	assert_in_range(
	    walk(TESTS_DIR "/gateway/proto/vectors/good", try_good), 40, 1000);
}

static void
bad_messages_are_refused_for_their_fault(void **state)
{
	(void)state;
	assert_in_range(
	    walk(TESTS_DIR "/gateway/proto/vectors/bad", try_bad), 100, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_messages_go_out_as_expected),
		cmocka_unit_test(bad_messages_are_refused_for_their_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
