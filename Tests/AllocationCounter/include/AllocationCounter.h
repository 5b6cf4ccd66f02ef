#ifndef LLVS_ALLOCATION_COUNTER_H
#define LLVS_ALLOCATION_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/// True if this process counts; false under a sanitizer, which has its own allocator.
bool llvs_counts_allocations(void);

/// The blocks of memory that the calling thread has allocated since it started.
uint64_t llvs_allocations_of_thread(void);

#endif
