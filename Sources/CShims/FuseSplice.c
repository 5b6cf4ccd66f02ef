#define _GNU_SOURCE
#include "CShims.h"

#include <fcntl.h>

ssize_t llvs_fuse_splice(int in, off_t *in_offset, int out, off_t *out_offset, size_t length,
                         unsigned flags, void *data) {
  (void)data;
  return splice(in, in_offset, out, out_offset, length, flags);
}
