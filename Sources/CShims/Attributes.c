#define _GNU_SOURCE
#include "CShims.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

int64_t llvs_list_extended(const char *path, char *names, size_t size) {
  return llistxattr(path, names, size);
}

int64_t llvs_get_extended(const char *path, const char *name, void *value, size_t size) {
  return lgetxattr(path, name, value, size);
}

int llvs_set_extended(const char *path, const char *name, const void *value, size_t size) {
  return lsetxattr(path, name, value, size, 0);
}

int llvs_make_node(const char *path, unsigned mode, unsigned major, unsigned minor) {
  return mknod(path, mode, makedev(major, minor));
}

int llvs_device_number(const char *path, unsigned *major_number, unsigned *minor_number) {
  struct stat status;
  int result = lstat(path, &status);
  if (result != 0) return result;
  *major_number = major(status.st_rdev);
  *minor_number = minor(status.st_rdev);
  return 0;
}
