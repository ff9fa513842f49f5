#include "gateway/audit/summary.h"

/*
 * The rows of the run lie between its first and last one, which an index
 * finds; so a summary does not read the whole file.
 */
#define RUN                                                                \
	"WITH run AS (SELECT s.*, "                                        \
	"(SELECT min(seq) FROM event WHERE kind IN (15, 18) "              \
	"AND kind NOT IN (1, 2, 5) AND sandbox_id = s.id) AS first, "      \
	"ifnull((SELECT seq FROM event WHERE kind = 16 AND kind NOT IN "   \
	"(1, 2, 5) AND sandbox_id = s.id), 9223372036854775807) AS last "  \
	"FROM sandbox s WHERE s.uid = :sbx), "                             \
	"row AS (SELECT e.*, "                                             \
	"e.verdict = 2 AND e.kind <> 12 "                                  \
	"AND NOT (e.kind = 2 AND e.parent_seq IS NOT NULL) "               \
	"AS refused FROM run CROSS JOIN event e "                          \
	"WHERE e.seq BETWEEN run.first AND run.last "                      \
	"AND e.sandbox_id = run.id), "                                     \
	"counted AS (SELECT row.*, parent_seq IS NULL AND (refused "       \
	"OR kind IN (1, 4) OR (kind IN (2, 3) AND "                        \
	"(ifnull(tls, 0) < -1 OR ifnull(l7, -1) IN (0, 10)))) AS request " \
	"FROM row) "

static const struct summary_section sections[] = {
	{ "run", "",
	    { RUN "SELECT run.uid AS run, "
		  "strftime('%Y-%m-%d %H:%M:%S', run.started_us / 1e6, "
		  "'unixepoch') AS started, "
		  "round((ifnull(run.ended_us, (SELECT max(ts_us) FROM row)) - "
		  "run.started_us) / 1e6, 1) AS seconds, "
		  "ifnull((SELECT object FROM row WHERE kind = 16), 'running') "
		  "AS ended, "
		  "(SELECT status FROM row WHERE kind = 16) AS status, "
		  "CASE WHEN json_valid(run.labels) THEN (SELECT "
		  "group_concat(value, ' ') FROM json_each(run.labels, "
		  "'$.command')) ELSE run.image END AS command, run.owner, "
		  "(SELECT group_concat(object, ' ') FROM row WHERE kind = 13) "
		  "AS policies, "
		  "ifnull(sum(request), 0) AS requests, "
		  "ifnull(sum(refused), 0) AS refused, "
		  "ifnull(sum(request AND verdict = 3), 0) AS would_refuse, "
		  "ifnull(sum(bytes_out), 0) AS bytes_out, "
		  "ifnull(sum(bytes_in), 0) AS bytes_in "
		  "FROM run LEFT JOIN counted ON counted.sandbox_id = run.id "
		  "GROUP BY run.id",
		NULL,
		"SELECT run, min(started) AS started, "
		"max(seconds) AS seconds, "
		"ifnull(max(CASE WHEN ended <> 'running' THEN ended END), "
		"'running') AS ended, max(status) AS status, command, owner, "
		"group_concat(policies, ' ') AS policies, "
		"sum(requests) AS requests, sum(refused) AS refused, "
		"sum(would_refuse) AS would_refuse, "
		"sum(bytes_out) AS bytes_out, sum(bytes_in) AS bytes_in "
		"FROM part GROUP BY run" },
	    true },
	{ "denied", "Refused",
	    { RUN "SELECT ifnull('*.' || (c.detail ->> '$.zone'), d.host) "
		  "AS host, c.dst_port AS port, re.name AS reason, "
		  "ru.name AS rule, k.name AS at, "
		  /* Refusals that are alike are counted in one row. */
		  "sum(ifnull(c.detail ->> '$.count', 1)) AS times, "
		  "min(trim(ifnull(c.verb, '') || ' ' || "
		  "ifnull(c.object, ''))) AS what "
		  "FROM counted c JOIN kind k ON k.id = c.kind "
		  "LEFT JOIN dst d ON d.id = c.dst_id "
		  "LEFT JOIN reason re ON re.id = c.reason "
		  "LEFT JOIN rule ru ON ru.id = c.rule_id WHERE c.refused "
		  "GROUP BY 1, c.dst_port, c.reason, c.rule_id, c.kind "
		  "ORDER BY times DESC, 1, port, reason LIMIT min(:top, 50)",
		NULL,
		"SELECT host, port, reason, rule, at, sum(times) AS times, "
		"min(what) AS what FROM part GROUP BY 1, 2, 3, 4, 5 "
		"ORDER BY times DESC, host, port, reason LIMIT 50" },
	    false },
	{ "observed", "Would have been refused",
	    { RUN "SELECT d.host, c.dst_port AS port, re.name AS reason, "
		  "ru.name AS rule, count(*) AS times, "
		  "min(trim(ifnull(c.verb, '') || ' ' || "
		  "ifnull(c.object, ''))) AS what "
		  "FROM counted c LEFT JOIN dst d ON d.id = c.dst_id "
		  "LEFT JOIN reason re ON re.id = c.reason "
		  "LEFT JOIN rule ru ON ru.id = c.rule_id "
		  "WHERE c.request AND c.verdict = 3 "
		  "GROUP BY c.dst_id, c.dst_port, c.reason, c.rule_id "
		  "ORDER BY times DESC, d.host, port, reason "
		  "LIMIT min(:top, 50)",
		NULL,
		"SELECT host, port, reason, rule, sum(times) AS times, "
		"min(what) AS what FROM part GROUP BY 1, 2, 3, 4 "
		"ORDER BY times DESC, host, port, reason LIMIT 50" },
	    false },
	{ "hosts", "Reached",
	    { RUN "SELECT d.host, c.dst_port AS port, "
		  "sum(c.request) AS requests, sum(c.bytes_out) AS bytes_out, "
		  "sum(c.bytes_in) AS bytes_in, "
		  "group_concat(DISTINCT ru.name) AS rules, "
		  "group_concat(DISTINCT cr.name) AS credentials "
		  "FROM counted c JOIN dst d ON d.id = c.dst_id "
		  "LEFT JOIN rule ru ON ru.id = c.rule_id "
		  "LEFT JOIN cred cr ON cr.id = c.cred_id "
		  "WHERE c.kind IN (1, 2, 3, 4) AND c.verdict IN (1, 3) "
		  "GROUP BY c.dst_id, c.dst_port "
		  "ORDER BY requests DESC, d.host LIMIT min(:top, 50)",
		NULL,
		"SELECT host, port, sum(requests) AS requests, "
		"sum(bytes_out) AS bytes_out, sum(bytes_in) AS bytes_in, "
		"group_concat(DISTINCT rules) AS rules, "
		"group_concat(DISTINCT credentials) AS credentials FROM part "
		"GROUP BY 1, 2 ORDER BY requests DESC, host LIMIT 50" },
	    false },
	{ "sent", "Sent most at once",
	    { RUN "SELECT d.host, c.dst_port AS port, "
		  "trim(ifnull(c.verb, '') || ' ' || ifnull(c.object, '')) "
		  "AS what, c.bytes_out, cr.name AS credential, "
		  "c.ts_us AS at_us, c.seq FROM counted c "
		  "LEFT JOIN dst d ON d.id = c.dst_id "
		  "LEFT JOIN cred cr ON cr.id = c.cred_id "
		  "WHERE c.bytes_out >= 65536 "
		  "ORDER BY c.bytes_out DESC, c.seq LIMIT min(:top, 5)",
		NULL,
		"SELECT * FROM part ORDER BY bytes_out DESC, seq LIMIT 5" },
	    false },
	{ "failed", "Allowed, but failed",
	    { RUN "SELECT d.host, c.dst_port AS port, re.name AS reason, "
		  "count(*) AS times FROM counted c "
		  "LEFT JOIN dst d ON d.id = c.dst_id "
		  "LEFT JOIN reason re ON re.id = c.reason "
		  "WHERE c.verdict = 4 GROUP BY c.dst_id, c.dst_port, c.reason "
		  "ORDER BY times DESC, d.host LIMIT min(:top, 20)",
		NULL,
		"SELECT host, port, reason, sum(times) AS times FROM part "
		"GROUP BY 1, 2, 3 ORDER BY times DESC LIMIT 20" },
	    false },
	{ "names", "Names asked for",
	    { RUN "SELECT ifnull('*.' || (c.detail ->> '$.zone'), "
		  "ifnull(d.host, c.object)) AS name, "
		  "group_concat(DISTINCT c.verb) AS types, "
		  "group_concat(DISTINCT v.name) AS verdict, "
		  "sum(ifnull(c.detail ->> '$.count', 1)) AS times "
		  "FROM counted c JOIN verdict v ON v.id = c.verdict "
		  "LEFT JOIN dst d ON d.id = c.dst_id WHERE c.kind = 5 "
		  "GROUP BY 1 ORDER BY times DESC, name LIMIT min(:top, 50)",
		NULL,
		"SELECT name, group_concat(DISTINCT types) AS types, "
		"group_concat(DISTINCT verdict) AS verdict, "
		"sum(times) AS times FROM part GROUP BY 1 "
		"ORDER BY times DESC, name LIMIT 50" },
	    false },
	{ "audit", "About this record",
	    { RUN "SELECT seq, object AS what, detail FROM row "
		  "WHERE kind = 18 ORDER BY seq LIMIT 20",
		NULL, NULL },
	    false },
};

const struct summary_section *
summary_sections(size_t *ret_count)
{
	*ret_count = sizeof(sections) / sizeof(sections[0]);
	return sections;
}

const struct question summary_last_run = {
	"SELECT uid FROM sandbox ORDER BY started_us DESC, id DESC LIMIT 1",
	"SELECT uid, started_us FROM sandbox ORDER BY started_us DESC, id DESC "
	"LIMIT 1",
	"SELECT uid FROM part ORDER BY started_us DESC, rowid DESC LIMIT 1"
};
const struct question summary_find_run = {
	"SELECT count(*) AS n FROM sandbox WHERE uid = :sbx", NULL,
	"SELECT sum(n) FROM part"
};
const struct question summary_reasons = { RUN
	"SELECT ifnull(re.name, 'refused') AS reason, count(*) AS times "
	"FROM counted c LEFT JOIN reason re ON re.id = c.reason "
	"WHERE c.refused GROUP BY c.reason ORDER BY times DESC, reason "
	"LIMIT min(:top, 3)",
	NULL,
	"SELECT reason, sum(times) AS times FROM part GROUP BY reason "
	"ORDER BY times DESC, reason LIMIT 3" };
const struct question summary_observed = { RUN
	"SELECT ifnull(re.name, 'other') AS reason, count(*) AS times "
	"FROM counted c LEFT JOIN reason re ON re.id = c.reason "
	"WHERE c.request AND c.verdict = 3 "
	"GROUP BY c.reason ORDER BY times DESC, reason",
	NULL,
	"SELECT reason, sum(times) AS times FROM part GROUP BY reason "
	"ORDER BY times DESC, reason" };
