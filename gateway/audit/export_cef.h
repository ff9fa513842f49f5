/*
 * export_cef - an alert as a line of the Common Event Format, version 0.
 *
 * Only for rows that entry_is_alert() names.  Backslash and bar in the head,
 * backslash, equals sign and line ends behind it are escaped, so that what a
 * sandbox chose cannot add a field or a line; other bytes that are not
 * printable ASCII become question marks.
 */
#ifndef GATEWAY_AUDIT_EXPORT_CEF_H
#define GATEWAY_AUDIT_EXPORT_CEF_H

struct cursor_writer;
struct query_cell;

/* The line, without its end; version is Exeat's. */
void export_cef(const struct query_cell *entry, const char *version,
    struct cursor_writer *out);

#endif
