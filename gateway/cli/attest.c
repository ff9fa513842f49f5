#include "gateway/cli/attest.h"

#include "gateway/audit/anchor.h"
#include "gateway/audit/consistency.h"
#include "gateway/audit/inclusion.h"
#include "gateway/audit/shelf.h"
#include "gateway/audit/verify.h"
#include "gateway/cli/command.h"
#include "gateway/cli/inquiry.h"
#include "schema/json.h"
#include "schema/limits.h"
#include "schema/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One finding or one report as JSON; and one proof, its row in hexadecimal. */
#define TEXT_ROOM 4096
#define PROOF_ROOM (2 * INCLUSION_ROW + 4 * MERKLE_ROOM + 4096)

static int
complain(const struct problem *problem)
{
	(void)fprintf(stderr, "exeat: %s\n", problem->text);
	if (problem->cure[0] != '\0')
		(void)fprintf(stderr, "       %s\n", problem->cure);
	return COMMAND_FAILED;
}

/* ---- verify ---- */

struct printing {
	bool json;
	int64_t count;
};

static void
print_json(const struct finding *finding, bool first)
{
	unsigned char text[TEXT_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);

	json_open(&json, NULL, '{');
	json_text(&json, "table", finding->table);
	if (finding->first != 0) {
		json_number(&json, "first", finding->first);
		json_number(&json, "last", finding->last);
	}
	json_text(&json, "what", finding->text);
	json_close(&json, '}');
	if (cursor_written(&out))
		(void)printf("%s%.*s", first ? "" : ",", (int)out.used, text);
}

static void
print_text(const struct finding *finding)
{
	(void)fputs(finding->table, stdout);
	if (finding->first != 0)
		(void)printf(" %" PRId64, finding->first);
	if (finding->last > finding->first)
		(void)printf(" to %" PRId64, finding->last);
	(void)printf(": %s\n", finding->text);
}

static void
on_finding(const struct finding *finding, void *arg)
{
	struct printing *printing = arg;

	if (printing->count++ >= LIMIT_FINDINGS)
		return;
	if (printing->json)
		print_json(finding, printing->count == 1);
	else
		print_text(finding);
}

static void
end_json(const struct verify_report *report, const char *key)
{
	unsigned char text[TEXT_ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);

	json_open(&json, NULL, '{');
	json_bool(&json, "intact", report->findings == 0);
	json_number(&json, "finding_count", report->findings);
	json_number(&json, "rows", report->rows);
	json_number(&json, "unproven_rows", report->unproven);
	json_number(&json, "entries", report->entries);
	json_number(&json, "blocks", report->blocks);
	json_number(&json, "segments", report->segments);
	json_number(&json, "pruned_segments", report->pruned);
	json_number(&json, "checkpoints", report->checkpoints);
	json_number(&json, "signed_blocks", report->signed_blocks);
	json_number(&json, "anchored_blocks", report->anchored_blocks);
	json_number(&json, "runs", report->runs);
	json_number(&json, "open_runs", report->open_runs);
	json_text(&json, "key", key);
	json_close(&json, '}');
	/* Without its bracket: the findings were opened before. */
	if (cursor_written(&out))
		(void)printf("],%.*s\n", (int)out.used - 1, text + 1);
}

static void
end_text(const struct inquiry *inquiry, const struct verify_report *report,
    const char *key)
{
	if (report->findings > LIMIT_FINDINGS)
		(void)printf("and %" PRId64 " more\n",
		    report->findings - LIMIT_FINDINGS);
	if (report->findings > 0)
		(void)printf(
		    "\n%s is NOT as it was written\n", inquiry->database);
	else
		(void)printf("%s is as it was written\n", inquiry->database);
	(void)printf("  rows      %" PRId64 " in %" PRId64
		     " blocks, with %" PRId64 " dictionary entries\n",
	    report->rows, report->blocks, report->entries);
	if (report->segments > 1 || report->pruned > 0)
		(void)printf("  segments  %" PRId64 ", and %" PRId64
			     " that were pruned\n",
		    report->segments, report->pruned);
	if (report->unproven > 0)
		(void)printf("            %" PRId64
			     " older ones, from before there were blocks, "
			     "cannot be verified\n",
		    report->unproven);
	(void)printf("  runs      %" PRId64 ", %" PRId64
		     " of them without an end yet\n",
	    report->runs, report->open_runs);
	(void)printf("  signed    %" PRId64 " blocks, by %" PRId64
		     " checkpoints\n",
	    report->signed_blocks, report->checkpoints);
	if (inquiry->anchor == NULL)
		(void)puts("  anchored  nothing was compared; see --anchor");
	else
		(void)printf("  anchored  %" PRId64 " blocks\n",
		    report->anchored_blocks);
	(void)printf("  key       %s\n", key);
}

/* The key that the anchor's file has must be the audit's own. */
static int
check_key(const struct anchor *anchor, const char *key,
    const struct inquiry *inquiry, struct problem *reterr)
{
	if (anchor->key[0] == '\0' || strcmp(anchor->key, key) == 0)
		return STATUS_OK;
	(void)problem_set(reterr,
	    "%s is signed with another key than the one in %s",
	    inquiry->database, inquiry->anchor);
	return problem_cure(
	    reterr, "It was replaced, or the anchor is another audit's.");
}

static int
verify(struct query *query, const struct inquiry *inquiry,
    const struct anchor *anchor, const char *key)
{
	struct printing printing = { .json = inquiry->json };
	struct verify request = { .anchors = anchor->list,
		.anchor_count = anchor->count,
		.on_finding = on_finding,
		.arg = &printing };
	struct verify_report report;
	struct problem problem;
	int status;

	if (check_key(anchor, key, inquiry, &problem) != STATUS_OK) {
		(void)complain(&problem);
		return COMMAND_NO;
	}
	if (inquiry->json)
		(void)fputs("{\"findings\":[", stdout);
	status = verify_run(query, &request, &report, &problem);
	if (status != STATUS_OK)
		return complain(&problem);
	if (inquiry->json)
		end_json(&report, key);
	else
		end_text(inquiry, &report, key);
	if (fflush(stdout) != 0)
		return COMMAND_FAILED;
	return report.findings == 0 ? COMMAND_OK : COMMAND_NO;
}

int
attest_verify(struct query *query, struct inquiry *inquiry)
{
	struct anchor anchor = { .list = NULL };
	char origin[CHECKPOINT_ORIGIN], text[CHECKPOINT_KEY] = "";
	uint8_t key[SIGNER_KEY];
	struct problem problem;
	int code;

	/* A damaged meta is a finding, too; then the key is not known. */
	if ((verify_identity(query, origin, key, &problem) != STATUS_OK ||
		checkpoint_key_text(origin, key, text) != STATUS_OK) &&
	    inquiry->key)
		return complain(&problem);
	if (inquiry->key)
		return puts(text) < 0 ? COMMAND_FAILED : COMMAND_OK;
	if (inquiry->anchor != NULL &&
	    anchor_load(inquiry->anchor, &anchor, &problem) != STATUS_OK)
		return complain(&problem);
	code = verify(query, inquiry, &anchor, text);
	anchor_done(&anchor);
	return code;
}

/* ---- checkpoint ---- */

static bool
on_note(const struct query_cell *cells, size_t count, void *arg)
{
	bool *printed = arg;

	*printed =
	    count == 1 && cells[0].type == QUERY_TEXT &&
	    fwrite(cells[0].text.at, cells[0].text.left, 1, stdout) == 1 &&
	    putchar('\n') != EOF;
	return false;
}

static int
print_newest(
    struct query *query, size_t place, bool *printed, struct problem *reterr)
{
	static const struct query_values none = { .count = 0 };
	bool found = false, cut;
	const struct query_reader reader = { NULL, on_note, &found };
	struct query *segment;
	int status = query_segment(query, place, &segment, reterr);

	if (status != STATUS_OK)
		return status;
	status = query_run(segment,
	    "SELECT note FROM checkpoint ORDER BY size DESC LIMIT 1", &none,
	    &reader, &cut, reterr);
	query_close(segment);
	*printed = found;
	return status;
}

int
attest_checkpoint(struct query *query, struct inquiry *inquiry)
{
	struct problem problem;
	bool printed = false;

	(void)inquiry;
	/* A segment that was just begun has none. */
	for (size_t i = query_shelf(query)->count; i > 0 && !printed; i--)
		if (print_newest(query, i - 1, &printed, &problem) != STATUS_OK)
			return complain(&problem);
	if (!printed)
		(void)fputs("exeat: there is no checkpoint yet\n", stderr);
	if (fflush(stdout) != 0)
		return COMMAND_FAILED;
	return printed ? COMMAND_OK : COMMAND_NO;
}

/* ---- prove ---- */

static void
put_hex(struct json *json, const char *key, const unsigned char *bytes,
    size_t length)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * INCLUSION_ROW + 1];

	for (size_t i = 0; i < length; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	text[2 * length] = '\0';
	json_text(json, key, text);
}

static void
put_path(struct json *json, const char *key, const struct merkle_path *path)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < path->count; i++)
		put_hex(
		    json, NULL, merkle_path_step(path, i)->bytes, DIGEST_BYTES);
	json_close(json, ']');
}

static void
put_proof(struct json *json, const struct inclusion *proof, const char *key)
{
	const struct block *block = &proof->block;

	json_open(json, NULL, '{');
	put_hex(json, "row", proof->row, proof->row_length);
	json_number(json, "row_index", (int64_t)proof->row_path.leaf);
	json_number(json, "row_count", (int64_t)proof->leaves);
	put_path(json, "row_path", &proof->row_path);
	json_open(json, "block", '{');
	json_number(json, "no", block->no);
	json_number(json, "first_seq", block->first_seq);
	json_number(json, "last_seq", block->last_seq);
	json_number(json, "first_us", block->first_us);
	json_number(json, "last_us", block->last_us);
	put_hex(json, "prev", block->prev.bytes, DIGEST_BYTES);
	json_close(json, '}');
	put_path(json, "block_path", &proof->block_path);
	json_text(json, "checkpoint", proof->note);
	json_text(json, "key", key);
	json_close(json, '}');
}

static int
print_proof(const struct inclusion *proof, const char *key)
{
	char *text = calloc(1, PROOF_ROOM);
	struct cursor_writer out =
	    cursor_writer_of(text, text == NULL ? 0 : PROOF_ROOM);
	struct json json = json_to(&out);
	bool well;

	put_proof(&json, proof, key);
	cursor_put_u8(&out, '\n');
	well = cursor_written(&out) && fwrite(text, out.used, 1, stdout) == 1 &&
	       fflush(stdout) == 0;
	free(text);
	return well ? COMMAND_OK : COMMAND_FAILED;
}

/* A checkpoint's size; 0 when it is not said. */
static bool
take_size(const char *text, int64_t *ret)
{
	struct cursor digits = cursor_of_text(text == NULL ? "0" : text);
	uint64_t size;

	if (!cursor_decimal(&digits, INT64_MAX, &size) ||
	    !cursor_is_empty(&digits) || (text != NULL && size == 0))
		return false;
	*ret = (int64_t)size;
	return true;
}

static int
print_consistency(const struct consistency *proof, const char *key)
{
	char *text = calloc(1, PROOF_ROOM);
	struct cursor_writer out =
	    cursor_writer_of(text, text == NULL ? 0 : PROOF_ROOM);
	struct json json = json_to(&out);
	bool well;

	json_open(&json, NULL, '{');
	json_text(&json, "from", proof->from_note);
	put_path(&json, "path", &proof->path);
	json_text(&json, "to", proof->to_note);
	json_text(&json, "key", key);
	json_close(&json, '}');
	cursor_put_u8(&out, '\n');
	well = cursor_written(&out) && fwrite(text, out.used, 1, stdout) == 1 &&
	       fflush(stdout) == 0;
	free(text);
	return well ? COMMAND_OK : COMMAND_FAILED;
}

/* That one checkpoint is the beginning of another. */
static int
prove_between(
    struct query *query, const struct inquiry *inquiry, const char *key)
{
	struct consistency proof;
	struct problem problem;
	int64_t from = 0, to = 0;
	int status;

	if (!take_size(inquiry->from, &from) || !take_size(inquiry->to, &to)) {
		(void)problem_set(&problem,
		    "--from and --to want a number of blocks, the second line "
		    "of a checkpoint");
		return complain(&problem);
	}
	status = consistency_make(query, from, to, &proof, &problem);
	if (status == STATUS_OK)
		return print_consistency(&proof, key);
	(void)complain(&problem);
	return status == STATUS_NOT_FOUND ? COMMAND_NO : COMMAND_FAILED;
}

int
attest_prove(struct query *query, struct inquiry *inquiry)
{
	struct cursor digits =
	    cursor_of_text(inquiry->word == NULL ? "" : inquiry->word);
	char origin[CHECKPOINT_ORIGIN], text[CHECKPOINT_KEY];
	uint8_t key[SIGNER_KEY];
	struct inclusion proof;
	struct problem problem;
	uint64_t seq = 0;
	int status;

	if (inquiry->from == NULL &&
	    (!cursor_decimal(&digits, INT64_MAX, &seq) ||
		!cursor_is_empty(&digits))) {
		(void)problem_set(&problem,
		    "prove wants a row's number, or --from a checkpoint");
		return complain(&problem);
	}
	if (verify_identity(query, origin, key, &problem) != STATUS_OK)
		return complain(&problem);
	if (checkpoint_key_text(origin, key, text) != STATUS_OK)
		return COMMAND_FAILED;
	if (inquiry->from != NULL)
		return prove_between(query, inquiry, text);
	status = inclusion_make(query, (int64_t)seq, &proof, &problem);
	if (status == STATUS_OK)
		return print_proof(&proof, text);
	(void)complain(&problem);
	return status == STATUS_NOT_FOUND ? COMMAND_NO : COMMAND_FAILED;
}
