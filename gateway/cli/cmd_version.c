#include "gateway/cli/cmd_version.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>

static const char usage[] =
    "usage: exeat version [--json]\n"
    "\n"
    "Prints the version of exeat and of the libraries it runs with.\n";

static int
print_text(void)
{
	return printf("exeat %s\nlibevent %s\njansson %s\n%s\n", EXEAT_VERSION,
		   event_get_version(), jansson_version_str(),
		   OpenSSL_version(OPENSSL_VERSION)) < 0
		   ? COMMAND_FAILED
		   : COMMAND_OK;
}

static int
print_json(void)
{
	return printf("{\"exeat\":\"%s\",\"libevent\":\"%s\","
		      "\"jansson\":\"%s\",\"openssl\":\"%s\"}\n",
		   EXEAT_VERSION, event_get_version(), jansson_version_str(),
		   OpenSSL_version(OPENSSL_VERSION_STRING)) < 0
		   ? COMMAND_FAILED
		   : COMMAND_OK;
}

static int
run(int argc, char **argv)
{
	if (argc == 1)
		return print_text();
	if (argc == 2 && strcmp(argv[1], "--json") == 0)
		return print_json();
	if (argc == 2 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		(void)fputs(usage, stdout);
		return COMMAND_OK;
	}
	(void)fputs(usage, stderr);
	return COMMAND_FAILED;
}

const struct command cmd_version = {
	.name = "version",
	.summary = "which build this is, with which libraries",
	.usage = usage,
	.run = run,
};
