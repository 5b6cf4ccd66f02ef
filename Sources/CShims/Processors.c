#define _GNU_SOURCE
#include "CShims.h"

#include <errno.h>
#include <unistd.h>
#include <sched.h>
#include <signal.h>

int llvs_has_thread(int process, int thread) {
  return tgkill(process, thread, 0) == 0 || errno == EPERM;
}

int llvs_signal_thread(int thread, int signal) { return tgkill(getpid(), thread, signal); }

int llvs_thread_id(void) { return gettid(); }

int llvs_processor_count(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
