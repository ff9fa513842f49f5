#include "broker/subject.h"

#include <string.h>

struct cursor
subject_token(struct mint_work *work)
{
	if (work->credential->secret != NULL)
		return secret_bytes(work->credential->secret);
	(void)mint_refuse(
	    work, "nothing says who %s is asked for", work->credential->name);
	return cursor_of(NULL, 0);
}

void
subject_name(const struct mint_work *work, char out[SUBJECT_NAME_MAX + 1])
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789=,.@-";
	size_t length = 0;

	for (; length < SUBJECT_NAME_MAX && work->run->uid[length] != '\0';
	     length++) {
		out[length] = work->run->uid[length];
		if (strchr(plain, out[length]) == NULL)
			out[length] = '-';
	}
	out[length] = '\0';
}
