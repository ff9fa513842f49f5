/*
 * tlserr - OpenSSL's error queue as one status and one line for people.
 *
 * OpenSSL keeps a queue of errors for each thread; what is left in it is
 * mistaken for the next call's failure.  So whoever sees a call fail asks
 * here, at once, and the queue is empty afterwards.
 */
#ifndef GATEWAY_TLS_TLSERR_H
#define GATEWAY_TLS_TLSERR_H

#include "schema/attr.h"

struct problem;
struct ssl_st;

/*
 * Says "what: reason" of the first error that waits, or what alone, and
 * empties the queue.  STATUS_NO_MEMORY when memory was the reason, otherwise
 * STATUS_PROBLEM.
 */
int tlserr_take(struct problem *reterr, const char *what);

/*
 * Why a handshake or a record failed: the verdict on the peer's certificate
 * if that was it, the peer's alert, or what OpenSSL says.
 */
int tlserr_session(struct problem *reterr, const struct ssl_st *ssl);

/* Empties the queue of what no one asked about. */
void tlserr_clear(void);

/* A verdict of X509_V_* in plain words: "certificate has expired". */
const char *tlserr_verdict(long verdict);

#endif
