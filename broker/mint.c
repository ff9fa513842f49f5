#include "broker/mint.h"

#include "schema/status.h"

#include <stdarg.h>
#include <stdio.h>

#include <openssl/crypto.h>
#include <openssl/rand.h>

int
mint_prepare(void)
{
	unsigned char drawn[16];

	if (OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL) != 1 ||
	    RAND_bytes(drawn, sizeof(drawn)) != 1)
		return STATUS_SYSTEM;
	return STATUS_OK;
}

enum mint_step
mint_refuse(struct mint_work *work, const char *format, ...)
{
	va_list arguments;

	work->quotes = false;
	va_start(arguments, format);
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): begun above */
	if (vsnprintf(work->why, sizeof(work->why), format, arguments) < 0)
		work->why[0] = '\0';
	va_end(arguments);
	return MINT_REFUSED;
}
