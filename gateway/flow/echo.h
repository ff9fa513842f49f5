/*
 * echo - a real secret that comes back in an answer.
 *
 * In a field of the head it is masked, always.  In a body it is masked or
 * flagged, as the rule says: plain, percent-encoded, escaped as in JSON or in
 * base64, across every cut.  A mask is as long as what it hides.  A body in
 * gzip is read too; masked, it goes on without its coding.  One in another
 * coding cannot be read: it is refused where it would be masked.
 */
#ifndef GATEWAY_FLOW_ECHO_H
#define GATEWAY_FLOW_ECHO_H

#include "gateway/flow/outbox.h"
#include "gateway/flow/refit.h"
#include "gateway/proto/response.h"
#include "policy/rule.h"
#include "schema/grant.h"

struct echo;

/*
 * Of what a grant has put into a request.  NULL when it has no secret that is
 * long enough to be found, or without memory: *ret_status says which.
 */
struct echo *echo_new(
    const struct grant *grant, enum rule_echo mode, int *ret_status) MUST_CHECK;
void echo_free(struct echo *echo);

/*
 * Masks the fields of an answer's head; *response is changed in place and
 * borrows from echo.  STATUS_REFUSED for a coding that cannot be masked,
 * STATUS_NO_MEMORY.
 */
int echo_head(struct echo *echo, struct response *response) MUST_CHECK;

/* How its body is changed, behind echo_head(); not set where it is not. */
struct refit echo_refit(struct echo *echo);

/* Looks at a body that is not changed. */
void echo_look(struct echo *echo, struct cursor bytes);

/* Whether the secret came back, anywhere. */
bool echo_was_seen(const struct echo *echo);

#endif
