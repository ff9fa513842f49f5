#include "gateway/audit/finding.h"

#include <stdarg.h>
#include <stdio.h>

void
findings_tell(struct findings *findings, const char *table, int64_t first,
    int64_t last, const char *format, ...)
{
	struct finding finding = {
		.table = table, .first = first, .last = last
	};
	va_list arguments;

	va_start(arguments, format);
	/* A longer text is cut, which is no harm. */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): version 14 */
	if (vsnprintf(finding.text, sizeof(finding.text), format, arguments) <
	    0)
		finding.text[0] = '\0';
	va_end(arguments);
	findings->count++;
	findings->on_finding(&finding, findings->arg);
}
