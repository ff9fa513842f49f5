#include "gateway/tls/clientcert.h"

#include "gateway/tls/tlserr.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

/* In place of one, so that nobody is asked: a locked key is not read. */
static const char no_password[] = "";

/* The first is our own, those behind it lead to its root. */
static bool
use_certificates(SSL *ssl, BIO *text)
{
	X509 *certificate =
	    PEM_read_bio_X509(text, NULL, NULL, unconst(no_password));
	bool well =
	    certificate != NULL && SSL_use_certificate(ssl, certificate) == 1;

	X509_free(certificate);
	while (well) {
		certificate =
		    PEM_read_bio_X509(text, NULL, NULL, unconst(no_password));
		if (certificate == NULL)
			break;
		well = SSL_add1_chain_cert(ssl, certificate) == 1;
		X509_free(certificate);
	}
	return well;
}

static bool
use_key(SSL *ssl, BIO *text)
{
	EVP_PKEY *key =
	    PEM_read_bio_PrivateKey(text, NULL, NULL, unconst(no_password));
	/* It looks whether the key is the certificate's. */
	bool well = key != NULL && SSL_use_PrivateKey(ssl, key) == 1 &&
		    SSL_check_private_key(ssl) == 1;

	EVP_PKEY_free(key);
	return well;
}

/* Each looks for its own kind of block from the start. */
static bool
use(SSL *ssl, struct cursor pem, bool (*step)(SSL *ssl, BIO *text))
{
	BIO *text = BIO_new_mem_buf(pem.at, (int)pem.left);
	bool well = text != NULL && step(ssl, text);

	BIO_free(text);
	return well;
}

int
clientcert_present(
    struct ssl_st *ssl, struct cursor pem, struct problem *reterr)
{
	tlserr_clear();
	if (pem.left > INT32_MAX)
		return problem_set(
		    reterr, "the client certificate is too long");
	if (!use(ssl, pem, use_certificates) || !use(ssl, pem, use_key))
		return tlserr_take(
		    reterr, "the client certificate cannot be used");
	tlserr_clear();
	return STATUS_OK;
}
