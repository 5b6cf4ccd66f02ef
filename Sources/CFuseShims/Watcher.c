// The watcher process, and the functions with which the watched process sends it messages;
// ConnectionWatch.swift explains why it exists.
//
// The watcher is forked before there are threads. It uses only system calls and the memory that it
// had at the fork, and allocates none.

#define _GNU_SOURCE
#include "CFuseShims.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The numbers of close_range(2) and of the successors of mount(2), which are the same on every
// processor; the C library may be older than the kernel.
enum {
  call_fsopen = 430,
  call_fsconfig = 431,
  call_fsmount = 432,
  call_close_range = 436,
  close_unshare = 2,
  closed_on_exec = 1,
  create_instance = 6,
};

enum { most_connections = 8 };

// MARK: - In the watcher

static void close_others(int one, int other) {
  int low = one < other ? one : other, high = one < other ? other : one;
  long failed = low > 0 ? syscall(call_close_range, 0, low - 1, 0) : 0;
  if (high - low > 1) failed |= syscall(call_close_range, low + 1, high - 1, 0);
  failed |= syscall(call_close_range, high + 1, ~0U, 0);
  if (failed == 0) return;
  // Linux before 5.9 has no close_range(2).
  for (int descriptor = (int)sysconf(_SC_OPEN_MAX); descriptor >= 0; descriptor--)
    if (descriptor != one && descriptor != other) close(descriptor);
}

/// Receives one message. Returns 0 if there is none, -1 if the sender has closed its end; else the
/// message's byte, and stores the descriptor that came with it.
static int take(int words, int *descriptor) {
  char byte = 0;
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  ssize_t count = recvmsg(words, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
  if (count == 0) return -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header != NULL && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(descriptor, CMSG_DATA(header), sizeof(int));
  return byte;
}

static _Noreturn void watch(int life, int words) {
  int connections[most_connections], count = 0, is_over = 0;
  while (!is_over) {
    struct pollfd ends[] = {{.fd = life, .events = POLLIN}, {.fd = words, .events = POLLIN}};
    if (poll(ends, 2, -1) < 0) continue;
    // Messages that were sent before the end are still read.
    int found = 0;
    do {
      int descriptor = -1;
      found = words < 0 ? 0 : take(words, &descriptor);
      if (found == 'x') is_over = 1;
      if (descriptor < 0) continue;
      if (count < most_connections) connections[count++] = descriptor;
      else close(descriptor);
    } while (found > 0);
    if (found < 0) words = -1;
    if (ends[0].revents != 0) is_over = 1;
  }
  // Writing to a connection that has ended has no effect.
  for (int i = 0; i < count; i++)
    if (write(connections[i], "1", 1) < 0) continue;
  _exit(0);
}

static _Noreturn void become_watcher(int life, int words, char *arguments, size_t length) {
  static const char name[] = "llvs-watch";
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, NULL);
  prctl(PR_SET_NAME, name, 0, 0, 0);
  memset(arguments, 0, length);
  if (length > 0) memcpy(arguments, name, length < sizeof name ? length - 1 : sizeof name);
  close_others(life, words);
  if (chdir("/") != 0) _exit(1);
  watch(life, words);
}

// MARK: - In the watched process

int llvs_start_watcher(size_t length, int *life, int *words) {
  int lives[2], talks[2];
  if (pipe2(lives, O_CLOEXEC) != 0) return errno;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talks) != 0) {
    int code = errno;
    close(lives[0]);
    close(lives[1]);
    return code;
  }
  pid_t child = fork();
  if (child == 0) {
    // In a session of its own, and with init as its parent, it gets no signals of a terminal.
    setsid();
    pid_t watcher = fork();
    if (watcher == 0)
      become_watcher(lives[0], talks[0], program_invocation_name, length);
    _exit(watcher < 0);
  }
  int code = child < 0 ? errno : 0, status = 0;
  close(lives[0]);
  close(talks[0]);
  if (child > 0) {
    pid_t found;
    do found = waitpid(child, &status, 0);
    while (found < 0 && errno == EINTR);
    if (found != child || status != 0) code = EAGAIN;
  }
  if (code != 0) {
    close(lives[1]);
    close(talks[1]);
    return code;
  }
  *life = lives[1];
  *words = talks[1];
  return 0;
}

int llvs_keep_only(int descriptor) {
  if (descriptor > 0 && syscall(call_close_range, 0, descriptor - 1, close_unshare) != 0)
    return errno;
  return syscall(call_close_range, descriptor + 1, ~0U, close_unshare) == 0 ? 0 : errno;
}

int llvs_hand_over(int words, int descriptor) {
  char byte = 'c';
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  struct iovec part = {.iov_base = &byte, .iov_len = 1};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = sizeof control};
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
  return sendmsg(words, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : errno;
}

// MARK: - Crashes

static int crash_words = -1;
// Other handlers of crashes, such as that of Swift's runtime with SWIFT_BACKTRACE, run after the
// watcher got its message.
static struct sigaction crash_actions[32];

static void crashed(int signal, siginfo_t *info, void *context) {
  (void)context;
  const struct sigaction *old = &crash_actions[signal];
  // A process sent the signal, and this process was started to ignore it.
  if (old->sa_handler == SIG_IGN && info->si_code == SI_USER) return;
  (void)send(crash_words, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  sigaction(signal, old, NULL);
  // A faulting instruction runs again after the return and raises the signal again, with the same
  // state. A signal that a process sent is not repeated, nor one that follows its instruction:
  // raise those.
  if (info->si_code <= 0 || signal == SIGTRAP || signal == SIGSYS) raise(signal);
}

void llvs_tell_of_crashes(int words) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  crash_words = words;
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    // On the alternate signal stack if the thread has one: its own stack may have overflowed.
    struct sigaction new = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&new.sa_mask);
    if (sigaction(signals[i], NULL, &crash_actions[signals[i]]) == 0)
      sigaction(signals[i], &new, NULL);
  }
}

// MARK: - Connections

int llvs_open_connection(unsigned number) {
  char path[64];
  snprintf(path, sizeof path, "/sys/fs/fuse/connections/%u/abort", number);
  int found = open(path, O_WRONLY | O_CLOEXEC);
  if (found >= 0) return found;
  int code = errno;
  // If fusectl is not mounted, root makes a mount of it that no path leads to.
  long file_system = syscall(call_fsopen, "fusectl", closed_on_exec);
  if (file_system < 0) {
    errno = code;
    return -1;
  }
  long mount = -1;
  if (syscall(call_fsconfig, file_system, create_instance, NULL, NULL, 0) == 0)
    mount = syscall(call_fsmount, file_system, closed_on_exec, 0);
  close((int)file_system);
  if (mount >= 0) {
    snprintf(path, sizeof path, "%u/abort", number);
    found = openat((int)mount, path, O_WRONLY | O_CLOEXEC);
    code = errno;
    close((int)mount);
  }
  errno = code;
  return found;
}
