#include "gateway/audit/report.h"

#include "gateway/audit/markup.h"
#include "gateway/audit/query.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/verify.h"
#include "schema/limits.h"
#include "schema/reason.h"
#include "schema/status.h"

#include <inttypes.h>
#include <string.h>

enum {
	SHOWN_FINDINGS = 10,
	BUCKETS = 60, /* of the chart; time.sql has the same number */
	CHART_WIDTH = 720,
	CHART_HEIGHT = 150,
	CHART_FOOT = 20
};

struct head {
	int64_t runs, first_us, last_us, requests, refused, would_deny, failed;
	int64_t alerts, bytes_out, bytes_in, hosts, programs, asked;
	int64_t credentials, open_runs;
};

struct making {
	struct query *query;
	const struct report *report;
	FILE *out;
	struct head head;
	struct verify_report proof;
	struct finding findings[SHOWN_FINDINGS];
	struct problem *reterr;
};

/* ---- asking ---- */

static const char *
text_of(const char *name, const char **ret_title)
{
	for (const struct sqltext *text = sqltext_report; text->name != NULL;
	     text++)
		if (strcmp(text->name, name) == 0) {
			*ret_title = text->title;
			return text->sql;
		}
	return NULL;
}

static int
ask(struct making *making, const char *sql, const struct query_reader *reader)
{
	const char *title, *scope = text_of("scope", &title);
	char text[LIMIT_REPORT_SQL];
	struct query_value list[] = {
		{ .name = "sbx", .text = cursor_of_text(making->report->run) },
		{ .name = "since",
		    .is_number = true,
		    .number = making->report->since_us },
		{ .name = "t0",
		    .is_number = true,
		    .number = making->head.first_us },
		{ .name = "t1",
		    .is_number = true,
		    .number = making->head.last_us },
	};
	struct query_values values = { list, sizeof(list) / sizeof(list[0]) };
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	bool cut;

	cursor_put_text(&out, scope);
	cursor_put_text(&out, sql);
	cursor_put_u8(&out, 0);
	if (!cursor_written(&out))
		return problem_set(making->reterr, "a question is too long");
	return query_run(
	    making->query, text, &values, reader, &cut, making->reterr);
}

static bool
on_head(const struct query_cell *cells, size_t count, void *arg)
{
	struct making *making = arg;
	int64_t *const fields[] = { &making->head.runs, &making->head.first_us,
		&making->head.last_us, &making->head.requests,
		&making->head.refused, &making->head.would_deny,
		&making->head.failed, &making->head.alerts,
		&making->head.bytes_out, &making->head.bytes_in,
		&making->head.hosts, &making->head.programs,
		&making->head.asked, &making->head.credentials,
		&making->head.open_runs };

	for (size_t i = 0; i < count && i < sizeof(fields) / sizeof(fields[0]);
	     i++)
		*fields[i] = cells[i].number;
	return false;
}

static void
on_finding(const struct finding *finding, void *arg)
{
	struct making *making = arg;

	if (making->proof.findings < SHOWN_FINDINGS)
		making->findings[making->proof.findings] = *finding;
	making->proof.findings++;
}

/* ---- the verdict on top ---- */

static enum report_state
state_of(const struct making *making)
{
	const struct head *head = &making->head;

	if (making->proof.findings > 0 || head->alerts > 0)
		return REPORT_ALARMS;
	if (head->refused > 0 || head->would_deny > 0 || head->failed > 0 ||
	    head->open_runs > 0 || making->proof.unproven > 0)
		return REPORT_REFUSALS;
	return REPORT_CLEAN;
}

static void
put_counted(FILE *out, int64_t count, const char *one, const char *many)
{
	markup_count(out, count);
	(void)fprintf(out, " %s", count == 1 ? one : many);
}

static void
put_point(FILE *out, int64_t count, const char *one, const char *many)
{
	if (count == 0)
		return;
	markup_raw(out, "<li>");
	put_counted(out, count, one, many);
	markup_raw(out, "</li>");
}

static void
put_findings(const struct making *making)
{
	int64_t shown = making->proof.findings < SHOWN_FINDINGS
			    ? making->proof.findings
			    : SHOWN_FINDINGS;

	for (int64_t i = 0; i < shown; i++) {
		const struct finding *finding = &making->findings[i];

		(void)fprintf(making->out, "<li>%s", finding->table);
		if (finding->first != 0)
			(void)fprintf(making->out, " %" PRId64, finding->first);
		if (finding->last > finding->first)
			(void)fprintf(
			    making->out, " to %" PRId64, finding->last);
		markup_raw(making->out, ": ");
		markup_text(making->out, cursor_of_text(finding->text));
		markup_raw(making->out, "</li>");
	}
}

static void
put_state(const struct making *making, enum report_state state)
{
	static const char *const classes[] = { "good", "warn", "bad" };
	const struct head *head = &making->head;
	FILE *out = making->out;

	(void)fprintf(out,
	    "<div class=\"state %s\" role=\"status\"><strong>%s</strong>",
	    classes[state],
	    state == REPORT_CLEAN	 ? "Clean"
	    : state == REPORT_REFUSALS	 ? "Look at this"
	    : making->proof.findings > 0 ? "The record was changed"
					 : "Alarm");
	if (state == REPORT_CLEAN)
		markup_raw(out, "<p>All that was asked for was allowed and "
				"went well, and the record of it is as it was "
				"written.</p>");
	markup_raw(out, "<ul>");
	put_findings(making);
	put_point(out, head->alerts, "alarm", "alarms");
	put_point(
	    out, head->refused, "attempt was refused", "attempts were refused");
	put_point(out, head->would_deny,
	    "request went out that the policy does not allow: it was only "
	    "observed",
	    "requests went out that the policy does not allow: they were only "
	    "observed");
	put_point(out, head->failed, "allowed request failed",
	    "allowed requests failed");
	put_point(out, head->open_runs, "run has no end in the record",
	    "runs have no end in the record");
	put_point(out, making->proof.unproven,
	    "row is older than the proofs and cannot be verified",
	    "rows are older than the proofs and cannot be verified");
	markup_raw(out, "</ul></div>\n");
}

static void
put_tile(FILE *out, const char *name, int64_t count, bool is_bytes)
{
	(void)fprintf(out, "<div><dt>%s</dt><dd>", name);
	if (is_bytes)
		markup_bytes(out, count);
	else
		markup_count(out, count);
	markup_raw(out, "</dd></div>");
}

static void
put_tiles(const struct making *making)
{
	const struct head *head = &making->head;
	FILE *out = making->out;

	markup_raw(out, "<dl class=\"tiles\">");
	put_tile(out, "requests", head->requests, false);
	put_tile(out, "refused", head->refused, false);
	put_tile(out, "destinations", head->hosts, false);
	put_tile(out, "sent", head->bytes_out, true);
	put_tile(out, "received", head->bytes_in, true);
	put_tile(out, "credentials used", head->credentials, false);
	put_tile(out, "people asked", head->asked, false);
	put_tile(out, "programs", head->programs, false);
	markup_raw(out, "</dl>\n");
}

/* ---- the chart ---- */

struct chart {
	int64_t allowed[BUCKETS], refused[BUCKETS], most;
};

static bool
on_bucket(const struct query_cell *cells, size_t count, void *arg)
{
	struct chart *chart = arg;
	int64_t bucket = cells[0].number;

	if (count < 3 || bucket < 0 || bucket >= BUCKETS)
		return true;
	chart->allowed[bucket] = cells[1].number;
	chart->refused[bucket] = cells[2].number;
	if (cells[1].number + cells[2].number > chart->most)
		chart->most = cells[1].number + cells[2].number;
	return true;
}

/* Seconds since the beginning, as an axis has them. */
static void
put_since(FILE *out, int64_t us)
{
	if (us < 10000000)
		(void)fprintf(out, "%.1f s", (double)us / 1e6);
	else if (us < INT64_C(600000000))
		(void)fprintf(out, "%.0f s", (double)us / 1e6);
	else if (us < INT64_C(36000000000))
		(void)fprintf(out, "%.0f min", (double)us / 6e7);
	else
		(void)fprintf(out, "%.1f h", (double)us / 3.6e9);
}

static void
put_bar(const struct making *making, const struct chart *chart, int at)
{
	double scale =
	    (double)(CHART_HEIGHT - CHART_FOOT - 14) / (double)chart->most;
	double allowed = (double)chart->allowed[at] * scale;
	double refused = (double)chart->refused[at] * scale;
	double foot = CHART_HEIGHT - CHART_FOOT, step = 12;
	FILE *out = making->out;

	if (chart->allowed[at] + chart->refused[at] == 0)
		return;
	markup_raw(out, "<g><title>after ");
	put_since(
	    out, (making->head.last_us - making->head.first_us) / BUCKETS * at);
	(void)fprintf(out,
	    ": %" PRId64 " allowed, %" PRId64 " refused</title>"
	    "<rect class=\"allowed\" x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" "
	    "height=\"%.1f\"/><rect class=\"refused\" x=\"%.0f\" y=\"%.1f\" "
	    "width=\"%.0f\" height=\"%.1f\"/></g>",
	    chart->allowed[at], chart->refused[at], at * step + 1,
	    foot - allowed, step - 2, allowed, at * step + 1,
	    foot - allowed - refused, step - 2, refused);
}

static int
put_chart(struct making *making)
{
	struct chart chart = { .most = 0 };
	struct query_reader reader = { NULL, on_bucket, &chart };
	const char *title, *sql = text_of("time", &title);
	int status = ask(making, sql, &reader);
	FILE *out = making->out;

	if (status != STATUS_OK || chart.most == 0)
		return status;
	(void)fprintf(out,
	    "<section id=\"time\"><h2>%s</h2><p class=\"key\"><span>allowed"
	    "</span><span>refused</span></p><div class=\"wide\"><svg "
	    "viewBox=\"0 0 %d %d\" "
	    "role=\"img\" aria-label=\"%s\">",
	    title, CHART_WIDTH, CHART_HEIGHT, title);
	(void)fprintf(out,
	    "<text x=\"0\" y=\"10\">%" PRId64 "</text><line class=\"axis\" "
	    "x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>",
	    chart.most, CHART_WIDTH, CHART_HEIGHT - CHART_FOOT,
	    CHART_HEIGHT - CHART_FOOT);
	for (int i = 0; i < BUCKETS; i++)
		put_bar(making, &chart, i);
	for (int i = 0; i <= 4; i++) {
		(void)fprintf(out,
		    "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">",
		    CHART_WIDTH * i / 4, CHART_HEIGHT - 5,
		    i == 0   ? "start"
		    : i == 4 ? "end"
			     : "middle");
		put_since(out,
		    (making->head.last_us - making->head.first_us) / 4 * i);
		markup_raw(out, "</text>");
	}
	markup_raw(out, "</svg></div></section>\n");
	return STATUS_OK;
}

/* ---- tables ---- */

/* How a column is shown: what stands before the colon of its name. */
enum look {
	LOOK_TEXT,
	LOOK_CODE,
	LOOK_COUNT,
	LOOK_BYTES,
	LOOK_BAR, /* per cent */
	LOOK_MARK,
	LOOK_REASON, /* the id, and its words */
	LOOK_INDENT, /* a level, for the column behind it */
	LOOK_MANY
};

static const char *const looks[LOOK_MANY] = { "text", "code", "count", "bytes",
	"bar", "mark", "reason", "indent" };

struct table {
	FILE *out;
	const char *id, *title;
	enum look looks[QUERY_COLUMNS_MAX];
	size_t columns, rows;
	int64_t level;
};

static enum look
look_of(struct cursor name, struct cursor *ret_heading)
{
	for (unsigned look = 0; look < LOOK_MANY; look++) {
		size_t length = strlen(looks[look]);

		if (name.left <= length || name.at[length] != ':' ||
		    memcmp(name.at, looks[look], length) != 0)
			continue;
		*ret_heading =
		    cursor_of(name.at + length + 1, name.left - length - 1);
		return (enum look)look;
	}
	*ret_heading = name;
	return LOOK_TEXT;
}

static bool
is_number(enum look look)
{
	return look == LOOK_COUNT || look == LOOK_BYTES;
}

static void
on_columns(const struct query_cell *names, size_t count, void *arg)
{
	struct table *table = arg;

	table->columns = count;
	(void)fprintf(table->out,
	    "<section id=\"%s\" tabindex=\"-1\"><h2>%s</h2><div "
	    "class=\"wide\"><table><thead><tr>",
	    table->id, table->title);
	for (size_t i = 0; i < count; i++) {
		struct cursor heading;

		table->looks[i] = look_of(names[i].text, &heading);
		if (table->looks[i] == LOOK_INDENT)
			continue;
		markup_raw(
		    table->out, is_number(table->looks[i])
				    ? "<th scope=\"col\" class=\"number\">"
				    : "<th scope=\"col\">");
		markup_text(table->out, heading);
		markup_raw(table->out, "</th>");
	}
	markup_raw(table->out, "</tr></thead><tbody>\n");
}

static void
put_reason(FILE *out, struct cursor id)
{
	size_t count;
	const struct reason_entry *entries = reason_entries(&count);

	markup_text(out, id);
	for (size_t i = 0; i < count; i++)
		if (strlen(entries[i].id) == id.left &&
		    memcmp(entries[i].id, id.at, id.left) == 0)
			(void)fprintf(
			    out, "<small>%s</small>", entries[i].title);
}

static void
put_plain(FILE *out, const struct query_cell *cell)
{
	if (cell->type == QUERY_INTEGER)
		(void)fprintf(out, "%" PRId64, cell->number);
	else
		markup_cell(out, cell);
}

static double
percent_of(const struct query_cell *cell)
{
	/* The SQL makes it between 0 and 100, with a point. */
	struct cursor text = cell->text;
	uint64_t whole = 0;

	if (cell->type != QUERY_REAL || !cursor_decimal(&text, 100, &whole))
		return 0;
	return (double)whole;
}

static void
put_cell(struct table *table, size_t at, const struct query_cell *cell)
{
	FILE *out = table->out;

	switch (table->looks[at]) {
	case LOOK_COUNT:
		markup_raw(out, "<td class=\"number\">");
		markup_cell(out, cell);
		break;
	case LOOK_BYTES:
		markup_raw(out, "<td class=\"number\">");
		if (cell->type == QUERY_INTEGER)
			markup_bytes(out, cell->number);
		break;
	case LOOK_BAR:
		(void)fprintf(out,
		    "<td class=\"meter\"><span style=\"width:%.0f%%\"></span>",
		    percent_of(cell));
		break;
	case LOOK_MARK:
		markup_raw(out, "<td>");
		if (cell->type == QUERY_NULL)
			break;
		markup_raw(out, "<span class=\"mark\">");
		markup_cell(out, cell);
		markup_raw(out, "</span>");
		break;
	case LOOK_REASON:
		markup_raw(out, "<td>");
		put_reason(out, cell->text);
		break;
	case LOOK_CODE:
		(void)fprintf(out,
		    "<td class=\"code\"><code style=\"padding-left:%" PRId64
		    "em\">",
		    2 * table->level);
		put_plain(out, cell);
		markup_raw(out, "</code>");
		table->level = 0;
		break;
	case LOOK_INDENT:
		table->level = cell->number;
		return;
	case LOOK_TEXT:
	case LOOK_MANY:
		markup_raw(out, "<td>");
		put_plain(out, cell);
		break;
	}
	markup_raw(out, "</td>");
}

static bool
on_row(const struct query_cell *cells, size_t count, void *arg)
{
	struct table *table = arg;

	table->rows++;
	markup_raw(table->out, "<tr>");
	for (size_t i = 0; i < count; i++)
		put_cell(table, i, &cells[i]);
	markup_raw(table->out, "</tr>\n");
	return ferror(table->out) == 0;
}

static const char *const tables[] = { "alerts", "refused", "hosts",
	"credentials", "approvals", "failed", "programs", "names", "changes",
	"runs", "record" };

static int
put_table(struct making *making, const char *name)
{
	const char *title, *sql = text_of(name, &title);
	struct table table = { .out = making->out, .id = name, .title = title };
	struct query_reader reader = { on_columns, on_row, &table };
	int status = ask(making, sql, &reader);

	if (status != STATUS_OK)
		return status;
	if (table.rows == 0)
		(void)fprintf(making->out,
		    "<tr><td colspan=\"%zu\">none</td></tr>", table.columns);
	markup_raw(making->out, "</tbody></table></div></section>\n");
	return STATUS_OK;
}

/* ---- the page ---- */

static void
put_head(const struct making *making)
{
	const struct report *report = making->report;
	FILE *out = making->out;

	markup_raw(out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src"
	    " 'none'; style-src 'unsafe-inline'\"><meta name=\"viewport\" "
	    "content=\"width=device-width, initial-scale=1\"><meta "
	    "name=\"referrer\" content=\"no-referrer\"><title>");
	markup_text(out,
	    cursor_of_text(report->run[0] == '\0' ? "All runs" : report->run));
	markup_raw(out, " - Exeat</title><style>\n");
	markup_raw(out, sqltext_style[0].sql);
	markup_raw(out, "</style></head><body>\n<header><h1>");
	if (report->run[0] == '\0')
		markup_raw(out, "All runs");
	else
		markup_text(out, cursor_of_text(report->run));
	markup_raw(out, "</h1><p>");
	put_counted(out, making->head.runs, "run", "runs");
	markup_raw(out, ", recorded in <code>");
	markup_text(out, cursor_of_text(report->database));
	markup_raw(out, "</code></p></header>\n");
}

static void
put_nav(FILE *out)
{
	markup_raw(out, "<nav aria-label=\"Parts\">");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const char *title;

		if (text_of(tables[i], &title) != NULL)
			(void)fprintf(
			    out, "<a href=\"#%s\">%s</a>", tables[i], title);
	}
	markup_raw(out, "</nav>\n");
}

static void
put_foot(const struct making *making)
{
	const struct verify_report *proof = &making->proof;
	FILE *out = making->out;

	markup_raw(out, "<section id=\"proof\"><h2>Integrity</h2><p>");
	markup_raw(
	    out, proof->findings == 0
		     ? "The record is as it was written: "
		     : "The record is <strong class=\"bad\">not</strong> "
		       "as it was written: ");
	put_counted(out, proof->rows, "row", "rows");
	markup_raw(out, " in ");
	put_counted(out, proof->blocks, "block", "blocks");
	markup_raw(out, ", ");
	put_counted(
	    out, proof->signed_blocks, "of them signed", "of them signed");
	markup_raw(out, " by ");
	put_counted(out, proof->checkpoints, "checkpoint", "checkpoints");
	markup_raw(out, ". Only a checkpoint that was kept elsewhere shows "
			"whether somebody with the key wrote another history: "
			"<code>exeat audit verify --anchor FILE</code>.</p>"
			"</section>\n<footer>Made by Exeat ");
	markup_text(out, cursor_of_text(making->report->version));
	markup_raw(out, " from <code>");
	markup_text(out, cursor_of_text(proof->origin));
	markup_raw(out, "</code>. Times are UTC.</footer></body></html>\n");
}

static int
prepare(struct making *making)
{
	const char *title;
	struct query_reader reader = { NULL, on_head, making };
	struct verify verify = { .on_finding = on_finding, .arg = making };
	struct verify_report proof;
	int status;

	/* A page of the newest segment alone could call a run clean. */
	if (query_shelf(making->query)->count > 1) {
		(void)problem_set(making->reterr,
		    "a page is about one segment, and this audit has several");
		return problem_cure(making->reterr,
		    "exeat audit summary and timeline read all of them.");
	}
	status = ask(making, text_of("head", &title), &reader);
	if (status != STATUS_OK)
		return status;
	status = verify_run(making->query, &verify, &proof, making->reterr);
	if (status != STATUS_OK)
		return status;
	proof.findings = making->proof.findings;
	making->proof = proof;
	return STATUS_OK;
}

int
report_write(struct query *query, const struct report *report, FILE *out,
    enum report_state *ret, struct problem *reterr)
{
	struct making making = {
		.query = query, .report = report, .out = out, .reterr = reterr
	};
	enum report_state state;
	int status = prepare(&making);

	if (status != STATUS_OK)
		return status;
	state = state_of(&making);
	put_head(&making);
	put_state(&making, state);
	put_tiles(&making);
	put_nav(out);
	status = put_chart(&making);
	for (size_t i = 0;
	     i < sizeof(tables) / sizeof(tables[0]) && status == STATUS_OK; i++)
		status = put_table(&making, tables[i]);
	if (status != STATUS_OK)
		return status;
	put_foot(&making);
	*ret = state;
	return STATUS_OK;
}
