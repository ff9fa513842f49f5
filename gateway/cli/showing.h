/*
 * showing - bytes of a sandbox's making, shown to a person.
 *
 * Names and contents of files are whatever the sandbox chose; on their way to
 * a terminal they pass through schema/visible.
 */
#ifndef GATEWAY_CLI_SHOWING_H
#define GATEWAY_CLI_SHOWING_H

#include <stddef.h>
#include <stdio.h>

void showing_path(FILE *out, const char *path);

/* A line of a file: its tabs stay as they are. */
void showing_line(FILE *out, const char *line, size_t length);

#endif
