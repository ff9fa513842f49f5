/*
 * mint_certificate - a client certificate, for servers that ask for one.
 *
 *	client_certificate	what is presented under TLS, to its hosts only
 *
 * The source holds the private key in PEM, without a password, and the
 * certificate with those that lead to its root, unless the member
 * "certificate" does.  The gateway that presents it gets the key as well, for
 * the lease, because it is one end of that TLS; the sandbox is at the other
 * side of the gateway.
 */
#ifndef BROKER_MINT_CERTIFICATE_H
#define BROKER_MINT_CERTIFICATE_H

#include "broker/mint.h"

extern const struct mint mint_client_certificate;

#endif
