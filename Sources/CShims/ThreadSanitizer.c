// Only in a build for the thread sanitizer (mount-scripts/tsan); otherwise this file is empty.
//
// Swift's `Mutex` takes a free lock with an atomic operation that the sanitizer sees. A lock that
// is held is acquired in libswiftSynchronization, which is not instrumented, so accesses of two
// threads that contended for the lock look like a race. The functions here report the order to the
// sanitizer.
//
// The linker prefers a function of the program to one of the same name in a library, so these
// replace the library's functions, and call them.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// A Swift method: the lock is in the register of `self`.
#define METHOD __attribute__((swiftcall, disable_sanitizer_instrumentation))
#define SELF __attribute__((swift_context)) void *

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

METHOD void llvs_lock_slow(uint32_t thread, SELF lock) __asm__(LOCK_SLOW);
METHOD _Bool llvs_try_lock_slow(SELF lock) __asm__(TRY_LOCK_SLOW);
METHOD void llvs_unlock_slow(SELF lock) __asm__(UNLOCK_SLOW);

METHOD void llvs_lock_slow(uint32_t thread, SELF lock) {
  ((METHOD void (*)(uint32_t, SELF))dlsym(RTLD_NEXT, LOCK_SLOW))(thread, lock);
  __tsan_acquire(lock);
}

METHOD _Bool llvs_try_lock_slow(SELF lock) {
  _Bool taken = ((METHOD _Bool (*)(SELF))dlsym(RTLD_NEXT, TRY_LOCK_SLOW))(lock);
  if (taken) __tsan_acquire(lock);
  return taken;
}

METHOD void llvs_unlock_slow(SELF lock) {
  __tsan_release(lock);
  ((METHOD void (*)(SELF))dlsym(RTLD_NEXT, UNLOCK_SLOW))(lock);
}

#endif
#endif
