/*
 * question - a question as people write it, to facts.
 *
 *     [@STAGE[!]] [METHOD] URL [upgrade=TOKEN] [at=TIME]
 *         [exe=PATH] [sha256=DIGITS] [mcp=METHOD [tool=NAME]]
 *
 * The scheme is https, http, wss, ws, ssh, tcp or udp.  With a stage ("@name",
 * "@connect", "@hello") only what is known then is told, and more can come;
 * with "!" nothing more comes.  Without, all is told and nothing more comes.
 * A program that is not told is unknown; a message that is not told is none,
 * but with "@request" it is unknown.  In the last four a blank is "%20".
 */
#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include "policy/exematch.h"
#include "policy/facts.h"
#include "schema/problem.h"

/* Owns what its facts borrow: it must stay where it is while they are used. */
struct question {
	struct facts facts;
	struct urlpath path;
	char method[LIMIT_HTTP_METHOD + 1];
	char text[LIMIT_HTTP_URI + 1]; /* the words; what is encoded undone */
	uint8_t exe_sha256[EXEMATCH_SHA256];
	bool tls;
};

/*
 * now_us is when it is asked, where the question does not say.  On failure
 * *ret is of no use.
 */
int question_read(struct cursor words, int64_t now_us, struct question *ret,
    struct problem *reterr) MUST_CHECK;

#endif
