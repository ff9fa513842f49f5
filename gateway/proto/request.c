#include "gateway/proto/request.h"

#include <string.h>

bool
request_is_idempotent(const struct request *request)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS",
		"TRACE", "PUT", "DELETE" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(request->method, methods[i]) == 0)
			return true;
	return false;
}
