#include "gateway/audit/report.h"

#include "gateway/audit/across.h"
#include "gateway/audit/chart.h"
#include "gateway/audit/grid.h"
#include "gateway/audit/markup.h"
#include "gateway/audit/query.h"
#include "gateway/audit/sqltext.h"
#include "gateway/audit/verify.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <inttypes.h>
#include <string.h>

enum {
	SHOWN_FINDINGS = 10
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

/* Each segment's rows of the scope are asked for, and put together. */
static int
ask(struct making *making, const char *sql, const struct query_reader *reader)
{
	static const char mark[] = "\n-- merge\n";
	const char *title, *scope = text_of("scope", &title);
	const char *merge = sql == NULL ? NULL : strstr(sql, mark);
	char part[LIMIT_REPORT_SQL];
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
	struct cursor_writer out = cursor_writer_of(part, sizeof(part));
	struct question question = { .part = part };
	bool cut;

	cursor_put_text(&out, scope);
	if (merge != NULL) {
		cursor_put(&out, sql, (size_t)(merge - sql));
		question.merge = merge + sizeof(mark) - 1;
	}
	cursor_put_u8(&out, 0);
	if (!cursor_written(&out) || merge == NULL)
		return problem_set(making->reterr,
		    "a part of the page has no question, or one too long");
	return across_ask(
	    making->query, &question, &values, reader, &cut, making->reterr);
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

/* ---- its parts ---- */

static const char *const tables[] = { "alerts", "refused", "hosts",
	"credentials", "approvals", "failed", "programs", "names", "changes",
	"runs", "record" };

static int
put_table(struct making *making, const char *name)
{
	const char *title, *sql = text_of(name, &title);
	struct grid grid = { .out = making->out, .id = name, .title = title };
	struct query_reader reader = grid_reader(&grid);
	int status = ask(making, sql, &reader);

	if (status == STATUS_OK)
		grid_end(&grid);
	return status;
}

static int
put_chart(struct making *making)
{
	const char *title, *sql = text_of("time", &title);
	struct chart chart = { .title = title,
		.span_us = making->head.last_us - making->head.first_us };
	struct query_reader reader = chart_reader(&chart);
	int status = ask(making, sql, &reader);

	if (status == STATUS_OK)
		chart_write(&chart, making->out);
	return status;
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
