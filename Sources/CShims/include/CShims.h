#ifndef LLVS_CSHIMS_H
#define LLVS_CSHIMS_H

// The only C that is written here: macros and variadics that Swift cannot import.

#include <fcntl.h>
#include <stddef.h>
#include <sys/ioctl.h>

/// open(2) and openat(2) are variadic.
static inline int llvs_openat(int directory, const char *path, int flags, unsigned mode) {
  return openat(directory, path, flags, mode);
}

/// fcntl(2) with a `struct flock`: open-file-description locks.
static inline int llvs_fcntl_lock(int fd, int command, struct flock *lock) {
  return fcntl(fd, command, lock);
}

#endif
