#define _GNU_SOURCE
#include "CShims.h"

#include <linux/falloc.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int llvs_lock(int fd, int type, int waiting) {
  struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET};
  return fcntl(fd, waiting ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
}

int64_t llvs_seek_data(int fd, int64_t offset) { return lseek(fd, offset, SEEK_DATA); }
int64_t llvs_seek_hole(int fd, int64_t offset) { return lseek(fd, offset, SEEK_HOLE); }

int64_t llvs_copy_range(int from, int to, int64_t offset, int64_t count) {
  loff_t start = offset, target = offset;
  return copy_file_range(from, &start, to, &target, (size_t)count, 0);
}

int llvs_fallocate(int fd, int keep, int punch, int64_t offset, int64_t length) {
  int mode = (keep || punch ? FALLOC_FL_KEEP_SIZE : 0) | (punch ? FALLOC_FL_PUNCH_HOLE : 0);
  return fallocate(fd, mode, offset, length);
}

int llvs_rename(int from_directory, const char *from, int to_directory, const char *to,
                unsigned flags) {
  return renameat2(from_directory, from, to_directory, to, flags);
}

void llvs_start_writeback(int descriptor, int64_t offset, int64_t count) {
  (void)sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

int llvs_pipe(int *ends) { return pipe2(ends, O_CLOEXEC); }

int llvs_syncfs(int fd) { return syncfs(fd); }

static int taken(int result, const struct statfs *raw, struct llvs_statfs *out) {
  if (result == 0) {
    *out = (struct llvs_statfs){
        .type = (uint32_t)raw->f_type,
        .block_size = (uint64_t)raw->f_bsize,
        .blocks = raw->f_blocks,
        .free_blocks = raw->f_bfree,
        .available_blocks = raw->f_bavail,
        .files = raw->f_files,
        .free_files = raw->f_ffree,
    };
  }
  return result;
}

int llvs_statfs(const char *path, struct llvs_statfs *out) {
  struct statfs raw;
  return taken(statfs(path, &raw), &raw, out);
}

int llvs_fstatfs(int fd, struct llvs_statfs *out) {
  struct statfs raw;
  return taken(fstatfs(fd, &raw), &raw, out);
}

int llvs_cached_identity(const char *path, uint64_t *device, uint64_t *inode) {
  struct statx raw;
  int result =
      statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &raw);
  if (result == 0) {
    *device = makedev(raw.stx_dev_major, raw.stx_dev_minor);
    *inode = raw.stx_ino;
  }
  return result;
}

long llvs_syscall(long number, long a, long b, long c, long d, long e, long f) {
  return syscall(number, a, b, c, d, e, f);
}

int llvs_open_direct(void) { return O_DIRECT; }
int llvs_open_directory(void) { return O_DIRECTORY; }
int llvs_open_no_follow(void) { return O_NOFOLLOW; }

int llvs_open_beneath(int directory, const char *path, uint64_t flags) {
  struct open_how how = {
      .flags = flags | O_CLOEXEC,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
  };
  return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}

int llvs_touch(int descriptor, int both) {
  struct timespec times[2] = {{0, both ? UTIME_NOW : UTIME_OMIT}, {0, UTIME_NOW}};
  return utimensat(descriptor, "", times, AT_EMPTY_PATH);
}

int llvs_parse_time(const char *text, const char *format, int64_t *seconds) {
  struct tm parts = {0};
  const char *end = strptime(text, format, &parts);
  if (end == NULL || *end != 0) return 0;
  int64_t offset = parts.tm_gmtoff;
  *seconds = timegm(&parts) - offset;
  return 1;
}

int llvs_open_path_only(void) { return O_PATH; }
