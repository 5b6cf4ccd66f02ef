#ifndef LLVS_CSHIMS_H
#define LLVS_CSHIMS_H

// The only C that is written here: macros, variadics, and what glibc declares for _GNU_SOURCE only,
// none of which Swift can import.

#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/syscall.h>

/// open(2) and openat(2) are variadic.
static inline int llvs_openat(int directory, const char *path, int flags, unsigned mode) {
  return openat(directory, path, flags, mode);
}

/// Locks that belong to the open file: type is F_RDLCK, F_WRLCK or F_UNLCK, on the whole file.
int llvs_lock(int fd, int type, int waiting);

/// lseek(2) with SEEK_DATA and SEEK_HOLE.
int64_t llvs_seek_data(int fd, int64_t offset);
int64_t llvs_seek_hole(int fd, int64_t offset);

/// fallocate(2): keeps the size when keep is not 0; punches a hole when punch is not 0.
int llvs_fallocate(int fd, int keep, int punch, int64_t offset, int64_t length);

/// sync_file_range(2): begins to write a range back and waits for nothing.
void llvs_start_writeback(int descriptor, int64_t offset, int64_t count);

/// renameat2(2); flags 1 is RENAME_NOREPLACE, 2 RENAME_EXCHANGE.
int llvs_rename(int from_directory, const char *from, int to_directory, const char *to,
                unsigned flags);

int llvs_syncfs(int fd);

/// What statfs(2) says, as plain numbers.
struct llvs_statfs {
  uint64_t type, block_size, blocks, free_blocks, available_blocks, files, free_files;
};
int llvs_statfs(const char *path, struct llvs_statfs *out);
int llvs_fstatfs(int fd, struct llvs_statfs *out);

/// Where a path leads, as the kernel has it in memory: no file system is asked. 0, or -1 and errno.
int llvs_cached_identity(const char *path, uint64_t *device, uint64_t *inode);

/// prctl(2) is variadic: names the calling thread, by the first 15 bytes.
static inline void llvs_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Sends libfuse's messages, each formatted, to `sink`: its own interface takes a `va_list`.
void llvs_fuse_set_log_sink(void (*sink)(int level, const char *text));

/// tgkill(2) with signal 0: whether a process has a thread, also one that may not be signalled.
int llvs_has_thread(int process, int thread);

/// splice(2) as `struct fuse_custom_io` wants it; `data` is not used.
ssize_t llvs_fuse_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                         unsigned flags, void *data);

/// gettid(2), and sched_setaffinity(2) whose sets are made by macros. These return 0 or an errno.
int llvs_thread_id(void);
int llvs_keep_thread_on(int thread, int processor);
/// Lets a thread run wherever the thread `model` may.
int llvs_let_thread_roam(int thread, int model);

/// Lets a processor that waits in a loop pass some time cheaply: its own instruction, `times` times.
static inline void llvs_rest(int times) {
  for (int i = 0; i < times; i++) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
  }
}

/// How many processors this process may run on.
int llvs_processor_count(void);

/// llistxattr(2), lgetxattr(2), lsetxattr(2).
int64_t llvs_list_extended(const char *path, char *names, size_t size);
int64_t llvs_get_extended(const char *path, const char *name, void *value, size_t size);
int llvs_set_extended(const char *path, const char *name, const void *value, size_t size);

/// How wide the terminal behind a descriptor is; 0 where it is none.
int llvs_terminal_columns(int descriptor);

/// mknod(2), and the device number of lstat(2); makedev(3) and its like are macros.
int llvs_make_node(const char *path, unsigned mode, unsigned major, unsigned minor);
int llvs_device_number(const char *path, unsigned *major_number, unsigned *minor_number);

/// syscall(2) is variadic: a raw system call, for programs that check what the kernel itself says.
long llvs_syscall(long number, long a, long b, long c, long d, long e, long f);

/// Forks the process that watches this one, which must have a single thread yet: it ends the connections
/// that it was handed when nobody has `life` open any more, or a crash is told on `words`. `length` bytes from
/// the first argument on are arguments, which it puts its own name over. 0, or an errno.
int llvs_start_watcher(size_t length, int *life, int *words);
/// Gives the calling thread a table of descriptors of its own, with this one alone. 0, or an errno.
int llvs_keep_only(int descriptor);
/// Hands a connection to the watcher. 0, or an errno.
int llvs_hand_over(int words, int descriptor);
/// Has the watcher told when this process crashes, before the kernel waits for its other threads.
void llvs_tell_of_crashes(int words);
/// Opens what ends a connection of FUSE when something is written to it; -1 and errno.
int llvs_open_connection(unsigned number);

/// O_DIRECT, O_DIRECTORY and O_NOFOLLOW, whose values depend on the processor.
int llvs_open_direct(void);
int llvs_open_directory(void);
int llvs_open_no_follow(void);

#endif
