#include "gateway/cli/tail.h"

#include "gateway/audit/query.h"
#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "gateway/cli/reply.h"
#include "schema/status.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
	FOLLOW_MS = 200 /* between looks for new rows */
};

static const char tail_lines[] =
    "SELECT seq, substr(at, 12, 8) AS time, verdict, kind, "
    "ifnull(host, '') || ifnull(':' || port, '') AS host, "
    "trim(ifnull(verb, '') || ' ' || ifnull(object, '')) AS what, "
    "trim(ifnull(status, '') || ' ' || "
    "CASE reason WHEN 'none' THEN '' ELSE ifnull(reason, '') END || ' ' || "
    "ifnull(rule, '')) AS result "
    "FROM v_event WHERE seq > :after ORDER BY seq LIMIT :limit";
static const char tail_rows[] =
    "SELECT * FROM v_event WHERE seq > :after ORDER BY seq LIMIT :limit";

/* False when nobody reads us any more. */
static bool
wait_for_rows(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, FOLLOW_MS) <= 0 ||
	       (out.revents & (POLLERR | POLLHUP)) == 0;
}

/* The rows behind after; gives the number of the last one. */
static int
print_new_rows(struct query *query, struct inquiry *inquiry,
    struct print *print, int64_t *after, struct problem *reterr)
{
	int64_t last;
	int status = query_last_seq(query, &last, reterr);

	if (status != STATUS_OK || last <= *after)
		return status;
	inquiry->value_count = 0;
	inquiry_add_number(inquiry, "after", *after);
	inquiry_add_number(inquiry, "limit", last - *after);
	status = reply_print_views(query,
	    inquiry->json ? tail_rows : tail_lines, inquiry, print, reterr);
	*after = last;
	return status;
}

static int
follow(struct query **query, struct inquiry *inquiry, struct print *print,
    int64_t after)
{
	struct problem problem;
	bool goes_on = true;

	while (goes_on) {
		if (query_renew(query, &problem) != STATUS_OK ||
		    print_new_rows(*query, inquiry, print, &after, &problem) !=
			STATUS_OK)
			return reply_failed(&problem);
		if (!print_end(print))
			return COMMAND_FAILED;
		goes_on = inquiry->follow && wait_for_rows();
	}
	return print_count(print) > 0 ? COMMAND_OK : COMMAND_NO;
}

int
tail_run(struct query *query, struct inquiry *inquiry)
{
	struct problem problem;
	struct query *ours = NULL;
	struct print *print;
	int64_t last;
	int code = COMMAND_FAILED;

	if (query_last_seq(query, &last, &problem) != STATUS_OK ||
	    query_open(query_audit(query), &ours, &problem) != STATUS_OK)
		return reply_failed(&problem);
	print =
	    print_new(stdout, inquiry->json ? PRINT_JSON_LINES : PRINT_LINES);
	if (print != NULL)
		code = follow(&ours, inquiry, print, last - inquiry->count);
	print_free(print);
	query_close(ours);
	return code;
}
