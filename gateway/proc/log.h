/*
 * log - one line to stderr for whoever runs us.
 *
 * "exeat-gateway[run]: text".  Control bytes in what is printed are escaped,
 * so that nothing a peer sent can forge a line or move a terminal's cursor.
 * The level and the name are the only mutable globals of the tree: they are
 * set once, at start.
 */
#ifndef GATEWAY_PROC_LOG_H
#define GATEWAY_PROC_LOG_H

#include "schema/attr.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* Both are borrowed for good; run may be NULL. */
void log_begin(const char *program, const char *run, enum log_level level);

/* From when on the run is known; borrowed for good. */
void log_run(const char *run);

/* The level named by EXEAT_LOG (error, warning, info, debug), or fallback. */
enum log_level log_level_of(const char *name, enum log_level fallback);

void log_error(const char *format, ...) PRINTF_LIKE(1, 2);
void log_warning(const char *format, ...) PRINTF_LIKE(1, 2);
void log_info(const char *format, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
