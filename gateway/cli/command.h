/*
 * command - the shape of a subcommand of exeat.
 *
 * gateway/main/exeat.c holds the table of them.  Results go to stdout,
 * diagnostics to stderr.
 */
#ifndef GATEWAY_CLI_COMMAND_H
#define GATEWAY_CLI_COMMAND_H

/* What a command's run returns; `exeat run` has its command's own codes. */
enum command_exit {
	COMMAND_OK = 0,
	COMMAND_NO = 1, /* it worked, and the answer is no: problems, denied */
	COMMAND_FAILED = 125 /* usage, or a failure of ours */
};

struct command {
	const char *name; /* "policy" */
	const char *summary; /* one line, for the list of commands */
	const char *usage; /* what --help prints: whole lines */
	/* argv[0] is the command's name.  Returns an exit status. */
	int (*run)(int argc, char **argv);
};

#endif
