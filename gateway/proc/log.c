#include "gateway/proc/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static struct {
	const char *program, *run;
	enum log_level level;
} self = { "exeat", NULL, LOG_LEVEL_WARNING };

static const char *const names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

void
log_begin(const char *program, const char *run, enum log_level level)
{
	self.program = program;
	self.run = run;
	self.level = level;
}

void
log_run(const char *run)
{
	self.run = run;
}

enum log_level
log_level_of(const char *name, enum log_level fallback)
{
	if (name == NULL)
		return fallback;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return (enum log_level)i;
	return fallback;
}

/* Copies text with control bytes made visible; always ends in a newline. */
static size_t
escape(const char *text, char out[LINE_MAX_BYTES])
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	for (; *text != '\0' && used < LINE_MAX_BYTES - 6; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte >= 0x20 && byte != 0x7f) {
			out[used++] = *text;
			continue;
		}
		out[used++] = '\\';
		out[used++] = 'x';
		out[used++] = hex[byte >> 4];
		out[used++] = hex[byte & 15];
	}
	out[used++] = '\n';
	return used;
}

static void say(enum log_level level, const char *format, va_list arguments)
    PRINTF_LIKE(2, 0);

static void
say(enum log_level level, const char *format, va_list arguments)
{
	char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES];
	int error = errno, used;
	size_t length;

	if (level > self.level)
		return;
	used = snprintf(text, sizeof(text), "%s%s%s%s: %s", self.program,
	    self.run == NULL ? "" : "[", self.run == NULL ? "" : self.run,
	    self.run == NULL ? "" : "]",
	    level == LOG_LEVEL_WARNING ? "warning: " : "");
	if (used < 0 || (size_t)used >= sizeof(text))
		return;
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the caller's */
	if (vsnprintf(text + used, sizeof(text) - (size_t)used, format,
		arguments) < 0)
		return;
	length = escape(text, line);
	/* One write a line: lines of several processes do not mix. */
	if (write(STDERR_FILENO, line, length) < 0)
		errno = error;
	errno = error;
}

void
log_error(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_LEVEL_ERROR, format, arguments);
	va_end(arguments);
}

void
log_warning(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_LEVEL_WARNING, format, arguments);
	va_end(arguments);
}

void
log_info(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_LEVEL_INFO, format, arguments);
	va_end(arguments);
}

void
log_debug(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(LOG_LEVEL_DEBUG, format, arguments);
	va_end(arguments);
}
