#include "gateway/tls/inside.h"

#include "gateway/net/pool.h"
#include "gateway/tls/alpn.h"
#include "gateway/tls/leaf.h"
#include "gateway/tls/stream.h"
#include "gateway/tls/tlserr.h"
#include "gateway/tls/wire.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct inside {
	SSL_CTX *context;
	BIO_METHOD *method;
	struct pool *pool;
};

/* What the leaf's key can do, and the cheapest of it first. */
static const char groups[] = "X25519:P-256:P-384";
static const char suites13[] = "TLS_AES_128_GCM_SHA256:"
			       "TLS_CHACHA20_POLY1305_SHA256:"
			       "TLS_AES_256_GCM_SHA384";
static const char suites12[] = "ECDHE-ECDSA-AES128-GCM-SHA256:"
			       "ECDHE-ECDSA-CHACHA20-POLY1305:"
			       "ECDHE-ECDSA-AES256-GCM-SHA384";
static const char signatures[] = "ECDSA+SHA256";

/* The signature is OpenSSL's.  The names are those of inside_accept(). */
static int
on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_length,
    const unsigned char *in, unsigned in_length, void *arg)
{
	const char *const *names = SSL_get_app_data(ssl);
	struct cursor name;

	(void)arg;
	if (names == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	if (alpn_choose(names, cursor_of(in, in_length), &name) != STATUS_OK)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = name.at;
	*out_length = (unsigned char)name.left;
	return SSL_TLSEXT_ERR_OK;
}

static int
inside_configure(SSL_CTX *context)
{
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set1_groups_list(context, unconst(groups)) != 1 ||
	    SSL_CTX_set_ciphersuites(context, suites13) != 1 ||
	    SSL_CTX_set_cipher_list(context, suites12) != 1 ||
	    SSL_CTX_set1_sigalgs_list(context, unconst(signatures)) != 1 ||
	    SSL_CTX_set_num_tickets(context, 1) != 1)
		return STATUS_PROBLEM;
	(void)SSL_CTX_set_options(
	    context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_RENEGOTIATION);
	(void)SSL_CTX_set_mode(context,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* Tickets need no memory of ours; a cache would. */
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	/* A record at once, not several: half ones of many flows add up. */
	SSL_CTX_set_read_ahead(context, 1);
	SSL_CTX_set_alpn_select_cb(context, on_alpn, NULL);
	return STATUS_OK;
}

struct inside *
inside_new(struct pool *pool, struct problem *reterr)
{
	struct inside *inside = calloc(1, sizeof(*inside));

	if (inside == NULL) {
		(void)problem_set(reterr, "no memory for TLS");
		return NULL;
	}
	inside->pool = pool;
	inside->method = wire_method_new();
	inside->context = SSL_CTX_new(TLS_server_method());
	if (inside->method == NULL || inside->context == NULL ||
	    inside_configure(inside->context) != STATUS_OK) {
		(void)tlserr_take(reterr, "cannot set up TLS for the sandbox");
		inside_free(inside);
		return NULL;
	}
	return inside;
}

void
inside_free(struct inside *inside)
{
	if (inside == NULL)
		return;
	SSL_CTX_free(inside->context);
	BIO_meth_free(inside->method);
	free(inside);
}

/* A ticket given for one host does not resume a session for another. */
static int
inside_bind_session(SSL *ssl, const char *host)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length;

	if (EVP_Digest(
		host, strlen(host), digest, &length, EVP_sha256(), NULL) != 1)
		return STATUS_PROBLEM;
	return SSL_set_session_id_context(ssl, digest, length) == 1
		   ? STATUS_OK
		   : STATUS_PROBLEM;
}

static SSL *
inside_session(struct inside *inside, const struct inside_order *order)
{
	SSL *ssl = SSL_new(inside->context);

	if (ssl == NULL)
		return NULL;
	if (SSL_use_cert_and_key(ssl, leaf_certificate(order->leaf),
		leaf_key(order->leaf), NULL, 1) != 1 ||
	    inside_bind_session(ssl, leaf_host(order->leaf)) != STATUS_OK ||
	    SSL_set_app_data(ssl, unconst(order->alpn)) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

struct stream *
inside_accept(struct inside *inside, const struct inside_order *order,
    struct problem *reterr)
{
	struct stream_order made = { .method = inside->method,
		.pool = inside->pool,
		.first = order->first,
		.fd = order->fd };
	struct stream *stream = NULL;

	tlserr_clear();
	made.ssl = inside_session(inside, order);
	if (made.ssl != NULL)
		stream = stream_of_session(&made);
	if (stream == NULL) {
		(void)tlserr_take(reterr, "cannot begin TLS with the sandbox");
		SSL_free(made.ssl);
	}
	return stream;
}
