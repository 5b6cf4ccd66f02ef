// ZSTD_compressSequences stands in this part, which libzstd exports from 1.5.0 on.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
