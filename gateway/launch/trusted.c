#include "gateway/launch/trusted.h"

#include "gateway/launch/environment.h"
#include "gateway/launch/trust.h"
#include "schema/json.h"

#include <stdio.h>
#include <string.h>

enum {
	ROOM = 16384 /* all of it as JSON has 4 KiB */
};

static void
put(struct json *json, const char *kind, const char *name, const char *key,
    const char *value)
{
	json_open(json, NULL, '{');
	json_text(json, "kind", kind);
	json_text(json, "name", name);
	json_text(json, key, value);
	json_close(json, '}');
}

static bool
print_json(void)
{
	static char text[ROOM];
	struct cursor_writer out = cursor_writer_of(text, sizeof(text));
	struct json json = json_to(&out);
	const char *name, *value;
	size_t count;
	const struct trust_place *places = trust_places(&count);

	json_open(&json, NULL, '[');
	for (size_t i = 0; i < count; i++)
		put(&json, "file", places[i].at, "reader", places[i].reader);
	for (size_t i = 0; environment_default(i, &name, &value); i++)
		if (strstr(value, TRUST_DIRECTORY) != NULL)
			put(&json, "variable", name, "value", value);
	json_close(&json, ']');
	cursor_put_u8(&out, '\n');
	return cursor_written(&out) &&
	       fwrite(text, 1, out.used, stdout) == out.used;
}

static void
print_table(void)
{
	const char *name, *value;
	size_t count;
	const struct trust_place *places = trust_places(&count);

	(void)puts("Every sandbox trusts this machine's roots and the run's "
		   "own authority.\n\nfiles");
	for (size_t i = 0; i < count; i++)
		(void)printf("  %-58s %s\n", places[i].at, places[i].reader);
	(void)printf("  %-58s %s\n",
	    "*/lib/security/cacerts, where there is "
	    "one",
	    "Java");
	(void)puts("\nvariables, unless the run sets them");
	for (size_t i = 0; environment_default(i, &name, &value); i++)
		if (strstr(value, TRUST_DIRECTORY) != NULL)
			(void)printf("  %s=%s\n", name, value);
}

bool
trusted_print(bool as_json)
{
	if (as_json)
		return print_json() && fflush(stdout) == 0;
	print_table();
	return fflush(stdout) == 0 && ferror(stdout) == 0;
}
