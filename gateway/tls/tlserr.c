#include "gateway/tls/tlserr.h"

#include "schema/problem.h"
#include "schema/status.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <stddef.h>

struct words {
	long verdict;
	const char *text;
};

/* Where OpenSSL's own words are shorthand, or wander between versions. */
static const struct words plain[] = {
	{ X509_V_ERR_CERT_HAS_EXPIRED, "certificate has expired" },
	{ X509_V_ERR_CERT_NOT_YET_VALID, "certificate is not yet valid" },
	{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, "self-signed certificate" },
	{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
	    "self-signed certificate in the chain, from no trusted "
	    "authority" },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
	    "certificate from an unknown authority" },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
	    "certificate from an unknown authority" },
	{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
	    "certificate from an unknown authority; the server may leave out "
	    "an intermediate one" },
	{ X509_V_ERR_HOSTNAME_MISMATCH, "host name mismatch" },
	{ X509_V_ERR_IP_ADDRESS_MISMATCH, "IP address mismatch" },
	{ X509_V_ERR_CERT_REVOKED, "certificate was revoked" },
};

const char *
tlserr_verdict(long verdict)
{
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (plain[i].verdict == verdict)
			return plain[i].text;
	}
	return X509_verify_cert_error_string(verdict);
}

void
tlserr_clear(void)
{
	/* Clearing takes longer than looking, and there is rarely one. */
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

int
tlserr_take(struct problem *reterr, const char *what)
{
	unsigned long error = ERR_get_error();
	const char *reason = error == 0 ? NULL : ERR_reason_error_string(error);

	tlserr_clear();
	if (reason == NULL)
		(void)problem_set(reterr, "%s", what);
	else
		(void)problem_set(reterr, "%s: %s", what, reason);
	return error != 0 && ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE
		   ? STATUS_NO_MEMORY
		   : STATUS_PROBLEM;
}

int
tlserr_session(struct problem *reterr, const struct ssl_st *ssl)
{
	long verdict = SSL_get_verify_result(ssl);
	unsigned long error = ERR_peek_error();

	if (verdict != X509_V_OK) {
		tlserr_clear();
		(void)problem_set(reterr, "%s", tlserr_verdict(verdict));
		return STATUS_REFUSED;
	}
	if (error == 0) {
		(void)problem_set(reterr, "the connection was cut");
		return STATUS_CLOSED;
	}
	(void)tlserr_take(reterr, "TLS");
	return STATUS_MALFORMED;
}
