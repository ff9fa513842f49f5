#include "broker/mint_certificate.h"

#include "broker/reading.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	/* A gateway asks again, so that its use is seen. */
	STATIC_LEASE_MS = 300000,
	MS_A_SECOND = 1000
};

/* ---- what is in the file ---- */

static void *
read_certificate(const struct reading *reading)
{
	json_t *value = reading_value(reading, "certificate", READING_OPTIONAL);
	const char *text = json_string_value(value);

	if (value == NULL)
		return NULL;
	if (text != NULL && json_string_length(value) < LIMIT_SECRET / 2 &&
	    strncmp(text, "-----BEGIN CERTIFICATE-----", 27) == 0)
		return strdup(text);
	reading_blame(reading, "certificate",
	    "write the certificate itself, with \\n for the end of a line",
	    "this must be a certificate in PEM");
	return NULL;
}

/* ---- what it is ---- */

/* In place of one, so that nobody is asked: a locked key is not read. */
static const char no_password[] = "";

/* The text that has the certificate. */
static struct cursor
where(const struct credential *credential)
{
	if (credential->config != NULL)
		return cursor_of_text(credential->config);
	return secret_bytes(credential->secret);
}

static X509 *
read_x509(struct cursor text)
{
	BIO *bio = BIO_new_mem_buf(text.at, (int)text.left);
	X509 *certificate = NULL;

	if (bio != NULL)
		certificate =
		    PEM_read_bio_X509(bio, NULL, NULL, unconst(no_password));
	BIO_free(bio);
	return certificate;
}

static EVP_PKEY *
read_key(struct cursor text)
{
	BIO *bio = BIO_new_mem_buf(text.at, (int)text.left);
	EVP_PKEY *key = NULL;

	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(
		    bio, NULL, NULL, unconst(no_password));
	BIO_free(bio);
	return key;
}

static int
check_pair(X509 *certificate, EVP_PKEY *key, struct problem *reterr)
{
	if (certificate == NULL) {
		(void)problem_set(reterr, "there is no certificate in it");
		return problem_cure(
		    reterr, "put it behind the key, or into \"certificate\"");
	}
	if (key == NULL)
		return problem_set(reterr,
		    "there is no private key in PEM in it that can be read "
		    "without a password");
	if (X509_check_private_key(certificate, key) != 1)
		return problem_set(reterr,
		    "the private key in it is not that of the certificate");
	return STATUS_OK;
}

static int
check_certificate(const struct credential *credential, struct problem *reterr)
{
	X509 *certificate = read_x509(where(credential));
	EVP_PKEY *key = read_key(secret_bytes(credential->secret));
	int status = check_pair(certificate, key, reterr);

	X509_free(certificate);
	EVP_PKEY_free(key);
	return status;
}

/* ---- the grant ---- */

/* Seconds that it is still good for, none when it is not. */
static int64_t
time_left(const struct mint_work *work)
{
	time_t now = (time_t)work->now_s;
	X509 *certificate = read_x509(where(work->credential));
	int64_t left = 0;
	struct tm end;

	if (certificate != NULL &&
	    X509_cmp_time(X509_get0_notBefore(certificate), &now) < 0 &&
	    ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1)
		left = (int64_t)timegm(&end) - work->now_s;
	X509_free(certificate);
	return left < 0 ? 0 : left;
}

/* The certificate, a line end, and the key, in one text. */
static struct secret *
join(struct cursor certificate, struct cursor key)
{
	struct secret *joined = secret_room(certificate.left + 1 + key.left);
	unsigned char *at;

	if (joined == NULL)
		return NULL;
	at = secret_fill(joined);
	if (certificate.left > 0)
		memcpy(at, certificate.at, certificate.left);
	at[certificate.left] = '\n';
	if (key.left > 0)
		memcpy(at + certificate.left + 1, key.at, key.left);
	return joined;
}

static enum mint_step
begin_certificate(struct mint_work *work)
{
	const struct credential *credential = work->credential;
	struct cursor key = secret_bytes(credential->secret);
	struct cursor certificate = credential->config == NULL
					? cursor_of(NULL, 0)
					: cursor_of_text(credential->config);
	int64_t left = time_left(work);

	if (!work->question->tls)
		return mint_refuse(work,
		    "%s is a client certificate, and without TLS nobody asks "
		    "for one",
		    credential->name);
	if (left == 0)
		return mint_refuse(work,
		    "the certificate of %s is not valid now", credential->name);
	if (grant_add(work->grant, GRANT_CERTIFICATE, "certificate",
		join(certificate, key)) != STATUS_OK)
		return mint_refuse(
		    work, "%s is too long to be lent", credential->name);
	work->grant->lease_ms = left * MS_A_SECOND < STATIC_LEASE_MS
				    ? (uint32_t)(left * MS_A_SECOND)
				    : STATIC_LEASE_MS;
	return MINT_GRANTED;
}

const struct mint mint_client_certificate = {
	.kind = "client_certificate",
	.has_source = true,
	.has_hosts = true,
	.keys = (const char *const[]){ "certificate", NULL },
	.read = read_certificate,
	.free = free,
	.check = check_certificate,
	.begin = begin_certificate,
};
