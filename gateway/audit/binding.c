#include "gateway/audit/binding.h"

#include "schema/status.h"

#include <sqlite3.h>

void
binding_id(struct binding *binding, int64_t id)
{
	if (sqlite3_bind_int64(binding->statement, ++binding->at, id) !=
	    SQLITE_OK)
		binding->failed = true;
}

void
binding_number(struct binding *binding, int64_t number, int64_t missing)
{
	if (number != missing)
		binding_id(binding, number);
	else if (sqlite3_bind_null(binding->statement, ++binding->at) !=
		 SQLITE_OK)
		binding->failed = true;
}

void
binding_text(struct binding *binding, struct cursor text)
{
	if (sqlite3_bind_text64(binding->statement, ++binding->at,
		(const char *)text.at, text.left, SQLITE_STATIC,
		SQLITE_UTF8) != SQLITE_OK)
		binding->failed = true;
}

void
binding_optional(struct binding *binding, struct cursor text)
{
	binding_text(binding, text.left == 0 ? cursor_of(NULL, 0) : text);
}

void
binding_blob(struct binding *binding, const void *bytes, size_t length)
{
	if (sqlite3_bind_blob64(binding->statement, ++binding->at,
		length == 0 ? NULL : bytes, length, SQLITE_STATIC) != SQLITE_OK)
		binding->failed = true;
}

int
binding_finish(struct binding *binding)
{
	bool done =
	    !binding->failed && sqlite3_step(binding->statement) == SQLITE_DONE;

	if (sqlite3_reset(binding->statement) != SQLITE_OK || !done)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

int
binding_look_up(struct binding *binding, int64_t *ret)
{
	int64_t number = 0;
	int result =
	    binding->failed ? SQLITE_NOMEM : sqlite3_step(binding->statement);

	if (result == SQLITE_ROW)
		number = sqlite3_column_int64(binding->statement, 0);
	if (sqlite3_reset(binding->statement) != SQLITE_OK)
		return STATUS_SYSTEM;
	if (result == SQLITE_DONE)
		return STATUS_NOT_FOUND;
	if (result != SQLITE_ROW)
		return STATUS_SYSTEM;
	*ret = number;
	return STATUS_OK;
}
