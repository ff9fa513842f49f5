/*
 * machine - the table of a flow's states.
 *
 * For each: what it does, how long it may take, what may follow.  The only
 * place that knows every handler.
 */
#ifndef GATEWAY_FLOW_MACHINE_H
#define GATEWAY_FLOW_MACHINE_H

struct carriers_makers;
struct flow_row;

/* FLOW_STATE_COUNT rows. */
const struct flow_row *machine_rows(void);

/* What connections outside are made with. */
const struct carriers_makers *machine_makers(void);

#endif
