/*
 * argv - a command line as it may be written down.
 *
 * Words are joined by single blanks; what looks like a secret is replaced by
 * "***": the value of an option, variable, query key or header field whose
 * name says that it holds one, the password behind "-u", and the user part of
 * a URL.  A script given as one word ("sh -c ...") is looked through the same
 * way.  It errs on the side of hiding.
 *
 * Pure.
 */
#ifndef SCHEMA_ARGV_H
#define SCHEMA_ARGV_H

#include "schema/cursor.h"

/*
 * words are separated by NUL, as /proc has them.  What does not fit into out
 * is cut off, and then out ends in "..." and has not overflowed; it needs
 * room for eight bytes.
 */
void argv_redact(struct cursor words, struct cursor_writer *out);

#endif
