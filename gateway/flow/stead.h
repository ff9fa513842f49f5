/*
 * stead - a key put in the stead of its placeholder, in the query, the path
 * and the body of a request.
 *
 * Only where the credential file says so, only where the placeholder stands
 * letter by letter, and written as that place demands: percent-encoded in a
 * URL and a form, escaped in JSON.  In a body it is found across every cut.
 * What is spelled otherwise stays, and is an alarm like any other.
 */
#ifndef GATEWAY_FLOW_STEAD_H
#define GATEWAY_FLOW_STEAD_H

#include "gateway/flow/outbox.h"
#include "gateway/proto/request.h"
#include "schema/grant.h"

struct lures;
struct stead;

/*
 * Of a grant that has a field for it; *ret is NULL where it has none, or this
 * run has no placeholder of the credential.  STATUS_NO_MEMORY.
 */
int stead_new(const struct grant *grant, const struct lures *lures,
    const char *credential, struct stead **ret) MUST_CHECK;
void stead_free(struct stead *stead);

/* Text of a URL; it borrows from out where something was replaced. */
int stead_path(struct stead *stead, struct cursor *text,
    struct cursor_writer *out) MUST_CHECK;
int stead_query(struct stead *stead, struct cursor *text,
    struct cursor_writer *out) MUST_CHECK;

/*
 * Whether the body of this request has to go through stead_body(); then its
 * head says how long that is, or that it comes in chunks.
 */
bool stead_begin_body(struct stead *stead, struct request *head) MUST_CHECK;

/* A slice, or with last the end: what may go on comes into out. */
int stead_body(struct stead *stead, struct cursor bytes, bool last,
    struct outbox *out) MUST_CHECK;

#endif
