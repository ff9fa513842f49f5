#include "gateway/cli/share.h"

#include "schema/cursor.h"
#include "schema/status.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

#define MS_A_SECOND INT64_C(1000)
#define MS_A_MINUTE (60 * MS_A_SECOND)
#define MS_AN_HOUR (60 * MS_A_MINUTE)
#define HOURS_MAX 8760 /* a year; longer is a typing error */
#define BYTES_MAX (INT64_C(1) << 50) /* more than any machine has */
#define THOUSAND 1000

struct unit {
	const char *name;
	int64_t factor;
};

static bool
read_units(const char *text, const struct unit *units, size_t count,
    int64_t most, int64_t *ret)
{
	struct cursor in = cursor_of_text(text);
	uint64_t number;

	if (!cursor_decimal(&in, (uint64_t)most, &number) || number == 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!cursor_equals(in, units[i].name))
			continue;
		if ((int64_t)number > most / units[i].factor)
			return false;
		*ret = (int64_t)number * units[i].factor;
		return true;
	}
	return false;
}

bool
share_time(const char *text, int64_t *ret_ms)
{
	static const struct unit units[] = { { "", MS_A_SECOND },
		{ "s", MS_A_SECOND }, { "ms", 1 }, { "m", MS_A_MINUTE },
		{ "h", MS_AN_HOUR } };

	return read_units(text, units, sizeof(units) / sizeof(units[0]),
	    HOURS_MAX * MS_AN_HOUR, ret_ms);
}

bool
share_bytes(const char *text, int64_t *ret)
{
	static const struct unit units[] = { { "", 1 },
		{ "KiB", INT64_C(1) << 10 }, { "MiB", INT64_C(1) << 20 },
		{ "GiB", INT64_C(1) << 30 }, { "TiB", INT64_C(1) << 40 },
		{ "K", INT64_C(1) << 10 }, { "M", INT64_C(1) << 20 },
		{ "G", INT64_C(1) << 30 } };

	return read_units(
	    text, units, sizeof(units) / sizeof(units[0]), BYTES_MAX, ret);
}

static bool
read_count(const char *text, int64_t *ret)
{
	static const struct unit units[] = { { "", 1 } };

	return read_units(text, units, 1, INT32_MAX, ret);
}

/* "2", "1.5", "0.25": at most three digits behind the point. */
static bool
read_thousandths(const char *text, int64_t *ret)
{
	struct cursor in = cursor_of_text(text);
	int64_t value, place = THOUSAND / 10;
	uint64_t whole;
	uint8_t digit;

	if (!cursor_decimal(&in, INT32_MAX / THOUSAND, &whole))
		return false;
	value = (int64_t)whole * THOUSAND;
	if (cursor_literal(&in, "."))
		for (; cursor_u8(&in, &digit); place /= 10) {
			if (digit < '0' || digit > '9' || place == 0)
				return false;
			value += (digit - '0') * place;
		}
	if (!cursor_is_empty(&in) || value == 0)
		return false;
	*ret = value;
	return true;
}

/* What people call it; where it stands in a plan, "" being the top. */
static const struct {
	const char *name, *object, *key;
	bool (*read)(const char *text, int64_t *ret);
	const char *example;
} table[] = {
	[SHARE_MEMORY] = { "memory", "limits", "memory", share_bytes, "2GiB" },
	[SHARE_CPU] = { "cpu", "limits", "cpu_thousandths", read_thousandths,
	    "1.5" },
	[SHARE_PIDS] = { "pids", "limits", "pids", read_count, "512" },
	[SHARE_OPEN_FILES] = { "open-files", "limits", "open_files", read_count,
	    "4096" },
	[SHARE_FILE_SIZE] = { "file-size", "limits", "file_bytes", share_bytes,
	    "1GiB" },
	[SHARE_WORKSPACE] = { "workspace", "limits", "workspace_bytes",
	    share_bytes, "10GiB" },
	[SHARE_TMP] = { "tmp", "limits", "tmp_bytes", share_bytes, "1GiB" },
	[SHARE_IDLE] = { "idle", "", "idle_ms", share_time, "10m" },
	[SHARE_GRACE] = { "grace", "", "grace_ms", share_time, "5s" },
};

static_assert(
    sizeof(table) / sizeof(table[0]) == SHARE_COUNT, "every limit has a name");

int
share_set(struct share *share, enum share_limit limit, const char *text,
    struct problem *reterr)
{
	if (table[limit].read(text, &share->limits[limit]))
		return STATUS_OK;
	(void)problem_set(reterr, "%.80s does not read as a limit", text);
	return problem_cure(reterr, "write, for example, %s=%s",
	    table[limit].name, table[limit].example);
}

int
share_take(struct share *share, const char *text, struct problem *reterr)
{
	for (int i = 0; i < SHARE_COUNT; i++) {
		size_t length = strlen(table[i].name);

		if (strncmp(text, table[i].name, length) != 0 ||
		    text[length] != '=')
			continue;
		return share_set(
		    share, (enum share_limit)i, text + length + 1, reterr);
	}
	(void)problem_set(reterr, "%.80s names nothing", text);
	return problem_cure(reterr,
	    "there are memory, cpu, pids, open-files, file-size, workspace, "
	    "tmp, idle and grace, as in memory=2GiB");
}

bool
share_plan(const struct share *share, struct json_t *plan)
{
	json_t *limits = json_object();

	for (int i = 0; i < SHARE_COUNT; i++) {
		json_t *object = table[i].object[0] == '\0' ? plan : limits;

		if (share->limits[i] > 0 &&
		    json_object_set_new(object, table[i].key,
			json_integer(share->limits[i])) != 0)
			goto fail;
	}
	if (json_object_set_new(
		limits, "best_effort", json_boolean(share->best_effort)) != 0)
		goto fail;
	return json_object_set_new(plan, "limits", limits) == 0;
fail:
	json_decref(limits);
	return false;
}
