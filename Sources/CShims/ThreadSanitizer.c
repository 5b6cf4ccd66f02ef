// Only in a build for the thread sanitizer (mount-scripts/tsan); otherwise this file is empty.
//
// Swift's `Mutex` takes a free lock by an atomic that the sanitizer sees, but one that is held in
// libswiftSynchronization, which is not instrumented. What two threads do one after the other under a lock
// that they contended for then looks like a race. Here the sanitizer is told of that order.
//
// A function of the program comes before one of the same name in a library, so these stand in for the
// library's, which they call.

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// A Swift method: its lock is in the register for `self`.
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
