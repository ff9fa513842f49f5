#include "gateway/tls/leaf.h"

#include "gateway/tls/certificate.h"
#include "gateway/tls/run_ca.h"
#include "gateway/tls/tlserr.h"
#include "schema/address.h"
#include "schema/hostname.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

/* Together 24 hours. */
#define EARLIER_S 3600
#define LASTS_S 82800

/* A CN has 64 characters at most (RFC 5280, ub-common-name). */
#define NAME_MAX_LENGTH 64

struct leaf {
	X509 *certificate;
	EVP_PKEY *key;
	int64_t begins, ends;
	char host[LIMIT_HOST + 1];
};
static_assert(LIMIT_HOST + 1 >= ADDRESS_TEXT_MAX, "an address fits too");

struct evp_pkey_st *
leaf_key_new(struct problem *reterr)
{
	EVP_PKEY *key = certificate_key_new();

	if (key == NULL)
		(void)tlserr_take(reterr, "cannot make a key for leaves");
	return key;
}

/* The one spelling of a name or an address. */
static int
host_canonical(const char *host, char out[LIMIT_HOST + 1])
{
	struct hostname name;
	struct address address;
	size_t length = strlen(host);

	if (address_parse(host, length, &address) == STATUS_OK) {
		address_print(&address, out);
		return STATUS_OK;
	}
	if (hostname_parse(host, length, &name) != STATUS_OK)
		return STATUS_MALFORMED;
	memcpy(out, name.text, sizeof(name.text));
	return STATUS_OK;
}

/* A name too long for a CN stands in the subjectAltName alone. */
static int
leaf_fill(struct leaf *leaf, const struct run_ca *ca)
{
	bool named = strlen(leaf->host) <= NAME_MAX_LENGTH;
	X509 *issuer = run_ca_certificate(ca);

	if (named &&
	    certificate_set_name(leaf->certificate, leaf->host) != STATUS_OK)
		return STATUS_PROBLEM;
	if (certificate_set_use(
		leaf->certificate, CERTIFICATE_SERVES, issuer) != STATUS_OK ||
	    certificate_set_host(leaf->certificate, leaf->host, !named) !=
		STATUS_OK)
		return STATUS_PROBLEM;
	return certificate_sign(leaf->certificate, issuer, run_ca_key(ca));
}

static int
leaf_make(struct leaf *leaf, const struct run_ca *ca, int64_t now,
    struct problem *reterr)
{
	leaf->begins = now - EARLIER_S;
	leaf->ends = now + LASTS_S;
	if (leaf->begins < run_ca_begins(ca))
		leaf->begins = run_ca_begins(ca);
	if (leaf->ends > run_ca_ends(ca))
		leaf->ends = run_ca_ends(ca);
	leaf->certificate =
	    certificate_new(leaf->key, leaf->begins, leaf->ends);
	if (leaf->certificate == NULL || leaf_fill(leaf, ca) != STATUS_OK)
		return tlserr_take(reterr, "cannot make a leaf");
	return STATUS_OK;
}

int
leaf_mint(const struct run_ca *ca, struct evp_pkey_st *key, const char *host,
    int64_t wall_us, struct leaf **ret, struct problem *reterr)
{
	int64_t now = wall_us / 1000000;
	struct leaf *leaf = calloc(1, sizeof(*leaf));
	int status;

	if (leaf == NULL) {
		(void)problem_set(reterr, "no memory for a leaf");
		return STATUS_NO_MEMORY;
	}
	if (host_canonical(host, leaf->host) != STATUS_OK) {
		(void)problem_set(reterr, "neither a name nor an address");
		status = STATUS_MALFORMED;
		goto fail;
	}
	if (now < run_ca_begins(ca) || now >= run_ca_ends(ca)) {
		(void)problem_set(
		    reterr, "the run's authority is not valid any more");
		status = STATUS_REFUSED;
		goto fail;
	}
	if (EVP_PKEY_up_ref(key) == 1)
		leaf->key = key;
	status = leaf_make(leaf, ca, now, reterr);
	if (status != STATUS_OK)
		goto fail;
	*ret = leaf;
	return STATUS_OK;
fail:
	leaf_free(leaf);
	return status;
}

void
leaf_free(struct leaf *leaf)
{
	if (leaf == NULL)
		return;
	X509_free(leaf->certificate);
	EVP_PKEY_free(leaf->key);
	free(leaf);
}

const char *
leaf_host(const struct leaf *leaf)
{
	return leaf->host;
}

int64_t
leaf_begins(const struct leaf *leaf)
{
	return leaf->begins;
}

int64_t
leaf_ends(const struct leaf *leaf)
{
	return leaf->ends;
}

struct x509_st *
leaf_certificate(const struct leaf *leaf)
{
	return leaf->certificate;
}

struct evp_pkey_st *
leaf_key(const struct leaf *leaf)
{
	return leaf->key;
}
