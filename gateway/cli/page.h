/*
 * page - a report put into a file.
 *
 * The page is made in memory and written in one go, so that there is no half
 * of one; the file is the owner's only, because the audit is.
 */
#ifndef GATEWAY_CLI_PAGE_H
#define GATEWAY_CLI_PAGE_H

struct query;
struct report;

/* file is "-" for stdout.  Gives an exit status. */
int page_write(
    struct query *query, const struct report *report, const char *file);

#endif
