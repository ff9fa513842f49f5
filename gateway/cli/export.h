/*
 * export - all rows of an audit, for other programs.
 *
 * OCSF and ECS give one object a line; CEF gives alerts only, and can send
 * them to a syslog daemon.  With -f new rows follow until interrupted.
 * JSON lines keep every value as it is.  CSV is RFC 4180 with a line of
 * names; a text that a spreadsheet would take for a formula has an apostrophe
 * before it, because sandboxes choose what stands there.
 */
#ifndef GATEWAY_CLI_EXPORT_H
#define GATEWAY_CLI_EXPORT_H

struct inquiry;
struct query;

/* Prints to stdout; gives an exit status. */
int export_rows(struct query *query, struct inquiry *inquiry);

#endif
