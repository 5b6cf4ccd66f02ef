#ifndef LLVS_CFUSESHIMS_H
#define LLVS_CFUSESHIMS_H

// What only a FUSE daemon needs of C. Apart from CShims, because the libraries do without libfuse.

#include <stddef.h>

/// Sends libfuse's messages, each formatted, to `sink`: its own interface takes a `va_list`.
void llvs_fuse_set_log_sink(void (*sink)(int level, const char *text));

/// Forks the watcher of this process, which must have only one thread. The watcher ends the
/// connections that it was passed when all descriptors of `life` are closed, or when a crash is
/// reported on `words`. It writes its own name over the `length` bytes of arguments. Returns 0, or
/// an errno.
int llvs_start_watcher(size_t length, int *life, int *words);
/// Gives the calling thread a descriptor table of its own with only this descriptor. Returns 0, or
/// an errno.
int llvs_keep_only(int descriptor);
/// Passes a connection's descriptor to the watcher. Returns 0, or an errno.
int llvs_hand_over(int words, int descriptor);
/// Installs signal handlers that report a crash of this process to the watcher, before the kernel
/// waits for its other threads.
void llvs_tell_of_crashes(int words);
/// Opens the file that ends a FUSE connection when something is written to it; returns -1 and errno
/// on failure.
int llvs_open_connection(unsigned number);

#endif
