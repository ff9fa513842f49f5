#include "gateway/tls/run_ca.h"

#include "gateway/tls/certificate.h"
#include "gateway/tls/tlserr.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

/* A run may have a limit of a year, and a little more to end in. */
#define EARLIER_S 86400
#define LASTS_S (366 * 86400 + 3600)

struct run_ca {
	EVP_PKEY *key;
	X509 *certificate;
	BIO *pem;
	int64_t begins, ends;
};

static int
run_ca_make_certificate(struct run_ca *ca, const char *name)
{
	ca->certificate = certificate_new(ca->key, ca->begins, ca->ends);
	if (ca->certificate == NULL)
		return STATUS_PROBLEM;
	if (certificate_set_name(ca->certificate, name) != STATUS_OK ||
	    certificate_set_use(ca->certificate, CERTIFICATE_SIGNS_CERTIFICATES,
		ca->certificate) != STATUS_OK)
		return STATUS_PROBLEM;
	return certificate_sign(ca->certificate, ca->certificate, ca->key);
}

static int
run_ca_make(struct run_ca *ca, const char *name)
{
	ca->key = certificate_key_new();
	if (ca->key == NULL || run_ca_make_certificate(ca, name) != STATUS_OK)
		return STATUS_PROBLEM;
	ca->pem = BIO_new(BIO_s_mem());
	if (ca->pem == NULL ||
	    PEM_write_bio_X509(ca->pem, ca->certificate) != 1)
		return STATUS_PROBLEM;
	return STATUS_OK;
}

struct run_ca *
run_ca_new(const char *run, int64_t wall_us, struct problem *reterr)
{
	/* A CN has 64 characters at most (RFC 5280, ub-common-name). */
	char name[65];
	int length = snprintf(name, sizeof(name), "Exeat run %s", run);
	struct run_ca *ca;

	if (length < 0 || (size_t)length >= sizeof(name)) {
		(void)problem_set(reterr,
		    "the run's name is too long for a certificate: %s", run);
		return NULL;
	}
	ca = calloc(1, sizeof(*ca));
	if (ca == NULL) {
		(void)problem_set(reterr, "no memory for a run's authority");
		return NULL;
	}
	ca->begins = wall_us / 1000000 - EARLIER_S;
	ca->ends = wall_us / 1000000 + LASTS_S;
	if (run_ca_make(ca, name) != STATUS_OK) {
		(void)tlserr_take(reterr, "cannot make the run's authority");
		run_ca_free(ca);
		return NULL;
	}
	return ca;
}

void
run_ca_free(struct run_ca *ca)
{
	if (ca == NULL)
		return;
	EVP_PKEY_free(ca->key);
	X509_free(ca->certificate);
	BIO_free(ca->pem);
	free(ca);
}

struct cursor
run_ca_pem(const struct run_ca *ca)
{
	char *text;
	long length = BIO_get_mem_data(ca->pem, &text);

	return cursor_of(text, (size_t)length);
}

int64_t
run_ca_begins(const struct run_ca *ca)
{
	return ca->begins;
}

int64_t
run_ca_ends(const struct run_ca *ca)
{
	return ca->ends;
}

struct x509_st *
run_ca_certificate(const struct run_ca *ca)
{
	return ca->certificate;
}

struct evp_pkey_st *
run_ca_key(const struct run_ca *ca)
{
	return ca->key;
}
