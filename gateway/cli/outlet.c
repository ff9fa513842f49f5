#include "gateway/cli/outlet.h"

#include <stdio.h>
#include <stdlib.h>

struct outlet *
outlet_new(void)
{
	struct outlet *outlet = calloc(1, sizeof(*outlet));

	if (outlet == NULL)
		return NULL;
	outlet->out = cursor_writer_of(outlet->bytes, OUTLET_PIECE);
	outlet->json = json_to(&outlet->out);
	return outlet;
}

void
outlet_flush(struct outlet *outlet)
{
	(void)fwrite(outlet->bytes, 1, outlet->out.used, stdout);
	outlet->out = cursor_writer_of(outlet->bytes, OUTLET_PIECE);
}

void
outlet_end(struct outlet *outlet)
{
	if (outlet == NULL)
		return;
	outlet_flush(outlet);
	(void)fputs("\n", stdout);
}
