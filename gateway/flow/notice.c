#include "gateway/flow/notice.h"

#include "gateway/proto/response.h"
#include "schema/json.h"

void
notice_write(const struct notice *notice, struct json *j)
{
	json_open(j, NULL, '{');
	json_text(j, "type", "about:blank");
	json_text(j, "title", response_phrase(notice->status));
	json_number(j, "status", notice->status);
	json_text(j, "detail", notice->detail);
	if (notice->reason != REASON_NONE)
		json_text(j, "reason", reason_id(notice->reason));
	if (notice->rule != NULL)
		json_text(j, "rule", notice->rule);
	json_close(j, '}');
}
