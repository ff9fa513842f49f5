#include "gateway/launch/trust.h"

#include "gateway/launch/mounts.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where other distributions, and programs made for them, look. */
static const char *const links[] = { "/etc/ssl/cert.pem",
	"/etc/ssl/ca-bundle.pem", "/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/pki/tls/cert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem" };

static int
copy(struct mounts *mounts, int bundle, size_t size, struct problem *reterr)
{
	unsigned char *bytes = malloc(size);
	ssize_t length;
	int status;

	if (bytes == NULL)
		return STATUS_NO_MEMORY;
	length = pread(bundle, bytes, size, 0);
	if (length != (ssize_t)size)
		status = problem_errno(reterr, "cannot read the trust bundle");
	else
		status = mounts_file(mounts, TRUST_BUNDLE, bytes, size, reterr);
	free(bytes);
	return status;
}

int
trust_lay(struct mounts *mounts, int bundle, struct problem *reterr)
{
	struct stat st;
	int status;

	if (fstat(bundle, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0 || st.st_size > LIMIT_TRUST_BYTES)
		return problem_set(
		    reterr, "the gateway sent no usable trust bundle");
	status = copy(mounts, bundle, (size_t)st.st_size, reterr);
	for (size_t i = 0;
	     status == STATUS_OK && i < sizeof(links) / sizeof(links[0]); i++)
		status = mounts_link(mounts, links[i], TRUST_BUNDLE, reterr);
	return status;
}
