#include "gateway/flow/h2_tail.h"

#include "schema/cursor.h"

#include <stdlib.h>

struct h2_tail *
h2_tail_new(const struct header *trailers)
{
	struct cursor_writer out;
	struct h2_tail *tail;
	size_t size = 0;

	for (size_t i = 0; i < trailers->count; i++)
		size += trailers->fields[i].name.left +
			trailers->fields[i].value.left;
	tail = malloc(sizeof(*tail) + size);
	if (tail == NULL)
		return NULL;
	out = cursor_writer_of(tail->bytes, size);
	tail->header.count = trailers->count;
	for (size_t i = 0; i < trailers->count; i++) {
		struct header_field field = trailers->fields[i];
		unsigned char *at = tail->bytes + out.used;

		cursor_put(&out, field.name.at, field.name.left);
		cursor_put(&out, field.value.at, field.value.left);
		tail->header.fields[i] = (struct header_field){
			.name = cursor_of(at, field.name.left),
			.value =
			    cursor_of(at + field.name.left, field.value.left)
		};
	}
	return tail;
}
