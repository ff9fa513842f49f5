/*
 * question - a question as people write it, to facts.
 *
 *     [@STAGE[!]] [METHOD] URL [upgrade=TOKEN] [at=TIME]
 *
 * The scheme is https, http, wss, ws, ssh, tcp or udp.  With a stage ("@name",
 * "@connect", "@hello") only what is known then is told, and more can come;
 * with "!" nothing more comes.  Without, all is told and nothing more comes.
 */
#ifndef POLICY_QUESTION_H
#define POLICY_QUESTION_H

#include "policy/facts.h"
#include "schema/problem.h"

/* Owns what its facts borrow: it must stay where it is while they are used. */
struct question {
	struct facts facts;
	struct urlpath path;
	char method[LIMIT_HTTP_METHOD + 1];
	char text[LIMIT_HTTP_URI + 1]; /* the words, as they were written */
	bool tls;
};

/*
 * now_us is when it is asked, where the question does not say.  On failure
 * *ret is of no use.
 */
int question_read(struct cursor words, int64_t now_us, struct question *ret,
    struct problem *reterr) MUST_CHECK;

#endif
