#include "gateway/audit/timeline.h"

/* The run's rows lie between its first and last one, which an index finds. */
#define RUN                                                               \
	"WITH run AS (SELECT s.uid, s.started_us, "                       \
	"(SELECT min(seq) FROM event WHERE kind IN (15, 18) "             \
	"AND kind NOT IN (1, 2, 5) AND sandbox_id = s.id) AS first, "     \
	"ifnull((SELECT seq FROM event WHERE kind = 16 AND kind NOT IN "  \
	"(1, 2, 5) AND sandbox_id = s.id), 9223372036854775807) AS last " \
	"FROM sandbox s WHERE s.uid = :sbx) "
#define ROWS                                                                  \
	"FROM run CROSS JOIN v_event v "                                      \
	"WHERE v.seq BETWEEN run.first AND run.last AND v.sandbox = run.uid " \
	"ORDER BY v.seq"

const struct question timeline_lines = { RUN
	"SELECT v.seq, printf('%+.3f', (v.ts_us - run.started_us) / 1e6) AS "
	"after, v.kind, v.verdict, "
	"ifnull(v.host, '') || ifnull(':' || v.port, '') AS host, "
	"trim(ifnull(v.verb, '') || ' ' || ifnull(v.object, '')) AS what, "
	"trim(ifnull(v.status, '') || ' ' || "
	"CASE v.reason WHEN 'none' THEN '' ELSE ifnull(v.reason, '') END || ' "
	"' "
	"|| ifnull(v.rule, '') || ifnull(' with ' || v.cred, '')) AS "
	"result " ROWS,
	NULL, NULL };

const struct question timeline_rows = { RUN "SELECT v.* " ROWS, NULL, NULL };
