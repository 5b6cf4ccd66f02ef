#include "CFuseShims.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include <fuse3/fuse_log.h>

static _Atomic(void (*)(int, const char *)) log_sink;

static void format_log(enum fuse_log_level level, const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  void (*sink)(int, const char *) = atomic_load(&log_sink);
  if (sink) sink((int)level, text);
}

void llvs_fuse_set_log_sink(void (*sink)(int level, const char *text)) {
  atomic_store(&log_sink, sink);
  fuse_set_log_func(sink ? format_log : 0);
}
