#ifndef LLVS_CFUZZER_H
#define LLVS_CFUZZER_H

#include <stddef.h>
#include <stdint.h>

/// The driver in libFuzzer, which comes with the compiler and has no header of its own.
int LLVMFuzzerRunDriver(int *argc, char ***argv,
                        int (*one)(const uint8_t *data, size_t size));

#endif
