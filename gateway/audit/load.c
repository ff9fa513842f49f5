#include "gateway/audit/load.h"

#include "gateway/audit/store.h"
#include "gateway/audit/writer.h"
#include "schema/limits.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct load {
	struct writer_op op;
	struct store_policy policy;
	void (*on_loaded)(void *arg);
	void *arg;
	unsigned char body[];
};

static int
apply(struct store *store, void *arg)
{
	struct load *load = arg;

	return store_add_policy(store, &load->policy);
}

static void
on_written(void *arg, int64_t seq)
{
	struct load *load = arg;

	(void)seq;
	if (load->on_loaded != NULL)
		load->on_loaded(load->arg);
	free(load);
}

/* The whole text behind fd, which must be a file or a memfd. */
static struct load *
read_text(int fd)
{
	struct load *load;
	struct stat st;
	size_t have = 0;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 0 ||
	    st.st_size > LIMIT_POLICY_BYTES)
		return NULL;
	load = calloc(1, sizeof(*load) + (size_t)st.st_size);
	if (load == NULL)
		return NULL;
	while (have < (size_t)st.st_size) {
		ssize_t got = pread(fd, load->body + have,
		    (size_t)st.st_size - have, (off_t)have);

		if (got <= 0) {
			free(load);
			return NULL;
		}
		have += (size_t)got;
	}
	load->policy.body = cursor_of(load->body, have);
	return load;
}

static bool
is_digest_of(const uint8_t sha256[32], struct cursor body)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;

	return EVP_Digest(body.at, body.left, digest, &length, EVP_sha256(),
		   NULL) == 1 &&
	       length == 32 && memcmp(digest, sha256, 32) == 0;
}

struct writer_op *
load_new(const struct event_policy *about, int fd, int64_t loaded_us,
    void (*on_loaded)(void *arg), void *arg)
{
	struct load *load = read_text(fd);

	if (load == NULL)
		return NULL;
	if (!is_digest_of(about->sha256, load->policy.body)) {
		free(load);
		return NULL;
	}
	load->policy.about = *about;
	load->policy.loaded_us = loaded_us;
	load->on_loaded = on_loaded;
	load->arg = arg;
	load->op = (struct writer_op){
		.apply = apply, .done = on_written, .arg = load
	};
	return &load->op;
}

void
load_free(struct writer_op *op)
{
	if (op != NULL)
		free(op->arg);
}
