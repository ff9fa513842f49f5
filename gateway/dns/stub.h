/*
 * stub - answers the sandbox's questions without asking anybody.
 *
 * A and AAAA of a name that some rule may allow get its synthetic address;
 * HTTPS and SVCB of it an empty answer, so that clients fall back to those.
 * Everything else but exeat.internal has no answer but an extended error (RFC
 * 8914) that names the reason, at once: NXDOMAIN for a name that no rule
 * opens, so that nobody takes it for an outage and asks again, REFUSED for
 * another type of one that a rule opens.
 * No question is ever passed on, whatever is in its labels.
 *
 * Each new name has one row, and so has each new question that is refused; of
 * many below one registered name the sum has: see gateway/run/fold.
 */
#ifndef GATEWAY_DNS_STUB_H
#define GATEWAY_DNS_STUB_H

#include "gateway/proto/dns.h"
#include "schema/reason.h"

struct names;
struct run;
struct sink;
struct stub;

/* All three are borrowed and outlive it. */
struct stub *stub_new(struct run *run, struct names *names, struct sink *sink)
    MUST_CHECK;
void stub_free(struct stub *stub);

/* No question follows: what was counted gets its rows. */
void stub_finish(struct stub *stub);

/*
 * Asks for the address of a name without a message, for who told the name to
 * a proxy: judged and recorded in the same way.  REASON_NONE, or why not.
 */
enum reason stub_ask(struct stub *stub, const struct hostname *host,
    struct address *ret) MUST_CHECK;

/*
 * Writes the answer to one message; out has room for LIMIT_DNS_MESSAGE and a
 * length.  False when it must not be answered at all.
 */
bool stub_answer(struct stub *stub, struct cursor message,
    enum dns_transport transport, struct cursor_writer *out) MUST_CHECK;

#endif
