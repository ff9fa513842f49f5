#include "gateway/tls/outside.h"

#include "gateway/net/pool.h"
#include "gateway/tls/alpn.h"
#include "gateway/tls/clientcert.h"
#include "gateway/tls/session_cache.h"
#include "gateway/tls/stream.h"
#include "gateway/tls/tlserr.h"
#include "gateway/tls/wire.h"
#include "schema/address.h"
#include "schema/problem.h"
#include "schema/status.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outside {
	SSL_CTX *context;
	BIO_METHOD *method;
	struct pool *pool;
	struct session_cache *sessions;
	struct cursor roots;
	bool loaded;
};

static const char groups[] = "X25519:P-256:P-384";
static const char suites13[] = "TLS_AES_128_GCM_SHA256:"
			       "TLS_AES_256_GCM_SHA384:"
			       "TLS_CHACHA20_POLY1305_SHA256";

/*
 * The signature is OpenSSL's; 1 keeps session.  Called behind a handshake
 * that was verified, and asked again all the same.
 */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	struct outside *outside = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (SSL_get_verify_result(ssl) != X509_V_OK)
		return 0;
	session_cache_put(outside->sessions, SSL_get_app_data(ssl), session);
	return 1;
}

/*
 * A name in the subject does not count (RFC 9525 section 2), nor a wildcard
 * for part of a label.  What stands in the roots is trusted, root or not.
 */
static void
outside_set_verification(SSL_CTX *context)
{
	X509_VERIFY_PARAM *rules = SSL_CTX_get0_param(context);

	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	X509_VERIFY_PARAM_set_hostflags(
	    rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		       X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	(void)X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN);
}

static int
outside_configure(struct outside *outside)
{
	SSL_CTX *context = outside->context;

	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set1_groups_list(context, unconst(groups)) != 1 ||
	    SSL_CTX_set_ciphersuites(context, suites13) != 1 ||
	    SSL_CTX_set_app_data(context, outside) != 1)
		return STATUS_PROBLEM;
	outside_set_verification(context);
	(void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
	(void)SSL_CTX_set_mode(context,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	(void)SSL_CTX_set_session_cache_mode(
	    context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
	SSL_CTX_sess_set_new_cb(context, on_session);
	SSL_CTX_set_read_ahead(context, 1);
	SSL_CTX_set_default_read_buffer_len(context, STREAM_BUFFER);
	return STATUS_OK;
}

struct outside *
outside_new(struct cursor roots, struct pool *pool, struct problem *reterr)
{
	struct outside *outside = calloc(1, sizeof(*outside));

	if (outside == NULL) {
		(void)problem_set(reterr, "no memory for TLS");
		return NULL;
	}
	outside->pool = pool;
	outside->roots = roots;
	outside->method = wire_method_new();
	outside->context = SSL_CTX_new(TLS_client_method());
	outside->sessions = session_cache_new();
	if (outside->method == NULL || outside->context == NULL ||
	    outside->sessions == NULL ||
	    outside_configure(outside) != STATUS_OK) {
		(void)tlserr_take(reterr, "cannot set up TLS for servers");
		outside_free(outside);
		return NULL;
	}
	return outside;
}

void
outside_free(struct outside *outside)
{
	if (outside == NULL)
		return;
	SSL_CTX_free(outside->context);
	BIO_meth_free(outside->method);
	session_cache_free(outside->sessions);
	free(outside);
}

/* How many roots were added; *ret_status says whether all could be. */
static size_t
store_load(X509_STORE *store, BIO *text, int *ret_status)
{
	X509 *root;
	size_t count = 0;

	*ret_status = STATUS_OK;
	while (*ret_status == STATUS_OK &&
	       (root = PEM_read_bio_X509_AUX(text, NULL, NULL, NULL)) != NULL) {
		if (X509_STORE_add_cert(store, root) != 1)
			*ret_status = STATUS_PROBLEM;
		else
			count++;
		X509_free(root);
	}
	return count;
}

/* The one error that only means that there were no more certificates. */
static bool
error_is_end_of_text(unsigned long error)
{
	return ERR_GET_LIB(error) == ERR_LIB_PEM &&
	       ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

int
outside_load(struct outside *outside, struct problem *reterr)
{
	BIO *text;
	size_t count;
	int status;

	if (outside->loaded)
		return STATUS_OK;
	tlserr_clear();
	text = BIO_new_mem_buf(outside->roots.at, (int)outside->roots.left);
	if (text == NULL)
		return tlserr_take(reterr, "cannot read the roots");
	count =
	    store_load(SSL_CTX_get_cert_store(outside->context), text, &status);
	BIO_free(text);
	if (status != STATUS_OK || !error_is_end_of_text(ERR_peek_last_error()))
		return tlserr_take(reterr, "cannot read the roots");
	tlserr_clear();
	if (count == 0)
		return problem_set(reterr, "there is no certificate to trust");
	outside->loaded = true;
	return STATUS_OK;
}

/* Whom the peer must prove to be; without it nothing is set up. */
static int
session_set_host(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *rules = SSL_get0_param(ssl);
	struct address address;

	if (address_parse(host, strlen(host), &address) == STATUS_OK)
		return X509_VERIFY_PARAM_set1_ip(
			   rules, address.bytes, address.length) == 1
			   ? STATUS_OK
			   : STATUS_PROBLEM;
	if (host[0] == '\0' || X509_VERIFY_PARAM_set1_host(rules, host, 0) != 1)
		return STATUS_PROBLEM;
	/* A literal is no server name (RFC 6066 section 3). */
	return SSL_set_tlsext_host_name(ssl, unconst(host)) == 1
		   ? STATUS_OK
		   : STATUS_PROBLEM;
}

static int
session_set_alpn(SSL *ssl, const char *const *names)
{
	unsigned char bytes[ALPN_WIRE_MAX];
	struct cursor_writer list = cursor_writer_of(bytes, sizeof(bytes));

	if (names == NULL)
		return STATUS_OK;
	if (alpn_write(names, &list) != STATUS_OK)
		return STATUS_TOO_LONG;
	/* This one returns 0 when all is well. */
	return SSL_set_alpn_protos(ssl, bytes, (unsigned)list.used) == 0
		   ? STATUS_OK
		   : STATUS_PROBLEM;
}

/* Borrows peer, which outlives the session. */
static SSL *
outside_session(
    struct outside *outside, const struct outside_order *order, char *peer)
{
	SSL *ssl = SSL_new(outside->context);
	SSL_SESSION *earlier = session_cache_get(outside->sessions, peer);

	if (ssl == NULL)
		return NULL;
	if (session_set_host(ssl, order->host) != STATUS_OK ||
	    session_set_alpn(ssl, order->alpn) != STATUS_OK ||
	    SSL_set_app_data(ssl, peer) != 1 ||
	    (earlier != NULL && SSL_set_session(ssl, earlier) != 1)) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_connect_state(ssl);
	return ssl;
}

/* What sessions are kept by. */
static char *
peer_of(const struct outside_order *order)
{
	char *peer;

	if (asprintf(&peer, "%s %u %s", order->host, (unsigned)order->port,
		order->who == NULL ? "" : order->who) < 0)
		return NULL;
	return peer;
}

/* The session, with what it presents; NULL: *reterr tells why. */
static SSL *
make_session(struct outside *outside, const struct outside_order *order,
    char *peer, struct problem *reterr)
{
	SSL *ssl = outside_session(outside, order, peer);

	if (ssl == NULL) {
		(void)tlserr_take(reterr, "cannot begin TLS with the server");
		return NULL;
	}
	if (order->certificate.left > 0 &&
	    clientcert_present(ssl, order->certificate, reterr) != STATUS_OK) {
		SSL_free(ssl);
		return NULL;
	}
	return ssl;
}

struct stream *
outside_connect(struct outside *outside, const struct outside_order *order,
    struct problem *reterr)
{
	struct stream_order made = { .method = outside->method,
		.pool = outside->pool,
		.fd = order->fd };
	struct stream *stream = NULL;

	if (outside_load(outside, reterr) != STATUS_OK)
		return NULL;
	tlserr_clear();
	made.own = peer_of(order);
	if (made.own == NULL) {
		(void)problem_set(reterr, "no memory for TLS");
		return NULL;
	}
	made.ssl = make_session(outside, order, made.own, reterr);
	if (made.ssl != NULL) {
		stream = stream_of_session(&made);
		if (stream == NULL)
			(void)tlserr_take(
			    reterr, "cannot begin TLS with the server");
	}
	if (stream == NULL) {
		SSL_free(made.ssl);
		free(made.own);
	}
	return stream;
}
