/*
 * inquiry - what one `exeat audit` is asked: its options and words.
 *
 * Words and values are borrowed from the arguments, which are changed.
 */
#ifndef GATEWAY_CLI_INQUIRY_H
#define GATEWAY_CLI_INQUIRY_H

#include "gateway/audit/query.h"
#include "gateway/cli/settings.h"
#include "schema/problem.h"

#include <stdbool.h>

#define INQUIRY_VALUES 16 /* those of one question, and the time */
#define INQUIRY_ROWS 20 /* that tail shows when nobody says how many */

struct inquiry {
	struct settings settings;
	const char *database;
	bool json, follow, help;
	bool dry_run; /* nothing is done (prune) */
	int64_t before_us; /* what is older may go (prune); 0: not said */
	int64_t keep; /* segments that stay (prune); 0: not said */
	bool key; /* only the key is asked for (verify) */
	const char *format; /* of an export; may be NULL */
	const char *html; /* the file of a report; may be NULL */
	const char *to; /* a syslog daemon (export), a size (prove) */
	const char *from; /* a checkpoint's size (prove); may be NULL */
	const char *anchor; /* a file of checkpoints (verify); may be NULL */
	int64_t count; /* rows of tail */
	int64_t since_us; /* 0: from the beginning */
	const char *word; /* the row, run, question or SQL; may be NULL */
	struct query_value values[INQUIRY_VALUES];
	size_t value_count;
};

/*
 * Reads what stands behind the subcommand's name, argv[0].  With --help only
 * that is told.
 */
int inquiry_read(struct inquiry *ret, int argc, char **argv,
    struct problem *reterr) MUST_CHECK;

/* Name and text are borrowed.  There is room for three more than were read. */
void inquiry_add_number(
    struct inquiry *inquiry, const char *name, int64_t number);
void inquiry_add_text(
    struct inquiry *inquiry, const char *name, const char *text);

#endif
