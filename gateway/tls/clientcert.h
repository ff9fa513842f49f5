/*
 * clientcert - who we are to a server that asks for a certificate.
 *
 * A text in PEM with one certificate, perhaps those that lead to its root, and
 * one private key that no password locks, in any order.  It is read anew for
 * each connection and kept nowhere but in that.
 */
#ifndef GATEWAY_TLS_CLIENTCERT_H
#define GATEWAY_TLS_CLIENTCERT_H

#include "schema/attr.h"
#include "schema/cursor.h"

struct problem;
struct ssl_st;

/* Has ssl present it when it is asked to; the words never quote the text. */
int clientcert_present(
    struct ssl_st *ssl, struct cursor pem, struct problem *reterr) MUST_CHECK;

#endif
