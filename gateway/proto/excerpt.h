/*
 * excerpt - the beginning of a message that could not be read, for the audit.
 *
 * It shows what is wrong with a head and nothing that may be secret: a start
 * line without its query and its user, names of fields, and values of those
 * alone that say whom a message is for and where it ends.  What does not begin
 * like a request or a response may be anything, and of it only a few bytes are
 * shown.  The rest is told by its length, as "[12 bytes]".
 *
 * Pure.  It comes out as visible_put() writes it.
 */
#ifndef GATEWAY_PROTO_EXCERPT_H
#define GATEWAY_PROTO_EXCERPT_H

#include "schema/cursor.h"

/* Writes at most LIMIT_EXCERPT bytes, nothing for no bytes. */
void excerpt_write(struct cursor bytes, struct cursor_writer *out);

#endif
