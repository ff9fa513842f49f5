/* fuzz - the one function a fuzz target has. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The name is libFuzzer's.  Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#endif
