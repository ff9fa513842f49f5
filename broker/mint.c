#include "broker/mint.h"

#include <stdarg.h>
#include <stdio.h>

enum mint_step
mint_refuse(struct mint_work *work, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	if (vsnprintf(work->why, sizeof(work->why), format, arguments) < 0)
		work->why[0] = '\0';
	va_end(arguments);
	return MINT_REFUSED;
}
