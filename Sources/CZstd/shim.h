// ZSTD_compressSequences is in this part; libzstd exports it from 1.5.0 on.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
