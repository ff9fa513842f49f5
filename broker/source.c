#include "broker/source.h"

#include "broker/reading.h"
#include "schema/secret.h"
#include "schema/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
	const char *key;
	enum source_kind kind;
	enum brokerage_source from;
} forms[] = {
	{ "file", SOURCE_GIVEN, BROKERAGE_FILE },
	{ "fd", SOURCE_GIVEN, BROKERAGE_FD },
	{ "env", SOURCE_GIVEN, BROKERAGE_ENV },
	{ "systemd", SOURCE_GIVEN, BROKERAGE_SYSTEMD },
	{ "vault", SOURCE_CREDENTIAL, BROKERAGE_FILE },
};

static const char cure[] =
    "write {\"file\": \"path\"}, {\"fd\": 9}, {\"env\": \"NAME\"}, "
    "{\"systemd\": \"name\"} or {\"vault\": \"credential\"}";

static char *
read_name(const struct reading *reading, const char *key)
{
	json_int_t number = 0;
	char *text = NULL;
	const char *name;

	if (strcmp(key, "fd") == 0) {
		if (!reading_integer(reading, key, 3, 1023, &number))
			return NULL;
		return asprintf(&text, "%lld", (long long)number) < 0 ? NULL
								      : text;
	}
	name = reading_text(reading, key, READING_REQUIRED, LIMIT_PATH - 1);
	return name == NULL ? NULL : strdup(name);
}

bool
source_parse(const struct reading *reading, struct source *ret)
{
	struct reading in;
	struct place place;

	if (!reading_object(reading, "source", READING_OPTIONAL, &place, &in))
		return false;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (json_object_get(in.object, forms[i].key) == NULL)
			continue;
		if (json_object_size(in.object) != 1)
			break;
		*ret = (struct source){ .kind = forms[i].kind,
			.from = forms[i].from,
			.name = read_name(&in, forms[i].key) };
		return ret->name != NULL;
	}
	reading_blame(&in, NULL, cure, "this must name one place of a secret");
	return false;
}

void
source_done(struct source *source)
{
	free(STEAL(source->name));
}

static int
check_file(enum brokerage_source from, int fd, struct problem *reterr)
{
	struct stat st;

	if (from != BROKERAGE_FILE && from != BROKERAGE_SYSTEMD)
		return STATUS_OK;
	if (fstat(fd, &st) != 0)
		return problem_errno(reterr, "it cannot be examined");
	if (!S_ISREG(st.st_mode))
		return problem_set(reterr, "it is not a plain file");
	/* systemd's own folder belongs to root, and is for us alone. */
	if (st.st_uid != geteuid() &&
	    !(from == BROKERAGE_SYSTEMD && st.st_uid == 0))
		return problem_set(reterr, "it belongs to somebody else");
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
		(void)problem_set(reterr, "it is open to others");
		return problem_cure(reterr, "chmod 600 it");
	}
	return STATUS_OK;
}

/* Reads to the end; how many bytes, or a negative status. */
static ssize_t
read_all(int fd, unsigned char *out, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, out + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

int
source_read(enum brokerage_source from, int fd, struct secret **ret,
    struct problem *reterr)
{
	struct secret *secret;
	unsigned char *bytes;
	ssize_t got;
	size_t length;

	if (check_file(from, fd, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	secret = secret_room(LIMIT_SECRET);
	if (secret == NULL) {
		(void)problem_set(reterr, "no memory can be locked for it");
		return problem_cure(reterr, "raise ulimit -l");
	}
	bytes = secret_fill(secret);
	got = read_all(fd, bytes, LIMIT_SECRET);
	length = got < 0 ? 0 : (size_t)got;
	if (length > 0 && length < LIMIT_SECRET && bytes[length - 1] == '\n')
		length--;
	if (got < 0)
		(void)problem_errno(reterr, "it cannot be read");
	else if (length == LIMIT_SECRET)
		(void)problem_set(
		    reterr, "it has more than %d bytes", LIMIT_SECRET - 1);
	else if (length == 0)
		(void)problem_set(reterr, "it is empty");
	if (got < 0 || length == LIMIT_SECRET || length == 0) {
		secret_free(secret);
		return STATUS_PROBLEM;
	}
	/* In as few locked pages as it needs. */
	*ret = secret_new(cursor_of(bytes, length));
	secret_free(secret);
	if (*ret == NULL)
		return problem_set(reterr, "no memory can be locked for it");
	return STATUS_OK;
}

int
source_read_text(
    int fd, size_t most, char **ret, size_t *ret_length, struct problem *reterr)
{
	char *text;
	ssize_t got;

	if (check_file(BROKERAGE_FILE, fd, reterr) != STATUS_OK)
		return STATUS_PROBLEM;
	text = malloc(most + 1);
	if (text == NULL)
		return problem_set(reterr, "there is no memory for it");
	got = read_all(fd, (unsigned char *)text, most + 1);
	if (got >= 0 && (size_t)got <= most) {
		*ret = text;
		*ret_length = (size_t)got;
		return STATUS_OK;
	}
	free(text);
	if (got < 0)
		return problem_errno(reterr, "it cannot be read");
	return problem_set(reterr, "it has more than %zu bytes", most);
}
