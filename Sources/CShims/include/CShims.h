#ifndef LLVS_CSHIMS_H
#define LLVS_CSHIMS_H

// Wrappers of what Swift cannot import: macros, variadic functions, and functions that glibc declares for
// _GNU_SOURCE only.

#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/syscall.h>
#include <wctype.h>

/// open(2) and openat(2) are variadic.
static inline int llvs_openat(int directory, const char *path, int flags, unsigned mode) {
  return openat(directory, path, flags, mode);
}

/// fcntl(2) with locks that belong to the open file description, on the whole file; type is
/// F_RDLCK, F_WRLCK or F_UNLCK.
int llvs_lock(int fd, int type, int waiting);

/// lseek(2) with SEEK_DATA and SEEK_HOLE.
int64_t llvs_seek_data(int fd, int64_t offset);
int64_t llvs_seek_hole(int fd, int64_t offset);

/// copy_file_range(2) from an offset of one file to the same offset of another.
int64_t llvs_copy_range(int from, int to, int64_t offset, int64_t count);

/// fallocate(2): keeps the size when keep is not 0; punches a hole when punch is not 0.
int llvs_fallocate(int fd, int keep, int punch, int64_t offset, int64_t length);

/// sync_file_range(2): starts writing a range to the disk, and does not wait.
void llvs_start_writeback(int descriptor, int64_t offset, int64_t count);

/// renameat2(2); flags 1 is RENAME_NOREPLACE, 2 RENAME_EXCHANGE.
int llvs_rename(int from_directory, const char *from, int to_directory, const char *to,
                unsigned flags);

/// pipe2(2) with O_CLOEXEC.
int llvs_pipe(int *ends);

/// syncfs(2).
int llvs_syncfs(int fd);

/// The result of statfs(2), as plain numbers.
struct llvs_statfs {
  uint64_t type, block_size, blocks, free_blocks, available_blocks, files, free_files;
};
int llvs_statfs(const char *path, struct llvs_statfs *out);
int llvs_fstatfs(int fd, struct llvs_statfs *out);

/// statx(2) of a path with the kernel's cached data: no request to the file system. Returns 0, or
/// -1 and errno.
int llvs_cached_identity(const char *path, uint64_t *device, uint64_t *inode);

/// prctl(2) is variadic: sets the name of the calling thread, at most 15 bytes.
static inline void llvs_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// tgkill(2) with signal 0: returns 1 if a process has a thread, even if it may not be signalled.
int llvs_has_thread(int process, int thread);
/// tgkill(2): sends a signal to a thread of this process. Returns 0, or -1 and errno.
int llvs_signal_thread(int thread, int signal);

/// gettid(2).
int llvs_thread_id(void);

/// Executes the processor's instruction for waiting in a loop, `times` times.
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

/// The number of processors that this process may run on.
int llvs_processor_count(void);

/// llistxattr(2), lgetxattr(2), lsetxattr(2).
int64_t llvs_list_extended(const char *path, char *names, size_t size);
int64_t llvs_get_extended(const char *path, const char *name, void *value, size_t size);
int llvs_set_extended(const char *path, const char *name, const void *value, size_t size);

/// The number of columns of the terminal behind a descriptor; 0 if it is no terminal.
int llvs_terminal_columns(int descriptor);

/// mknod(2), and the device number of lstat(2); makedev(3) and its like are macros.
int llvs_make_node(const char *path, unsigned mode, unsigned major, unsigned minor);
int llvs_device_number(const char *path, unsigned *major_number, unsigned *minor_number);

/// syscall(2) is variadic: a raw system call, for programs that test the kernel's own answers.
long llvs_syscall(long number, long a, long b, long c, long d, long e, long f);

/// openat2(2): opens a path below a directory. No part of it is a symbolic link or another mount; at
/// its end a symbolic link may be opened itself, with O_PATH and O_NOFOLLOW. Returns -1 and errno on
/// failure, ENOSYS before Linux 5.6.
int llvs_open_beneath(int directory, const char *path, uint64_t flags);
/// utimensat(2) with the present time on what is open, also with O_PATH: the mtime, or both times.
int llvs_touch(int descriptor, int both);
/// Reads a whole text by a format of strptime(3) as seconds since 1970; returns 0 for another text.
int llvs_parse_time(const char *text, const char *format, int64_t *seconds);
/// O_PATH, which glibc declares for _GNU_SOURCE only.
int llvs_open_path_only(void);

/// O_DIRECT, O_DIRECTORY and O_NOFOLLOW, whose values depend on the processor.
int llvs_open_direct(void);
int llvs_open_directory(void);
int llvs_open_no_follow(void);

#endif
