#include <xxhash.h>

// The library's own choice among what a processor can do (AVX-512, AVX2, SSE2), where it is built with
// one; the plain functions use what every processor has. The sums are the same.
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<xxh_x86dispatch.h>)
#define XXH_DISPATCH_DISABLE_REPLACE
#include <xxh_x86dispatch.h>
#define LLVS_XXH3_64BITS XXH3_64bits_withSeed_dispatch
#endif
#endif
#ifndef LLVS_XXH3_64BITS
#define LLVS_XXH3_64BITS XXH3_64bits_withSeed
#endif

/// XXH3-64 by the fastest of its ways.
static inline XXH64_hash_t llvs_xxh3_64bits(const void *bytes, size_t count, XXH64_hash_t seed) {
  return LLVS_XXH3_64BITS(bytes, count, seed);
}
