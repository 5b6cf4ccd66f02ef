#include "CShims.h"
#include <sys/ioctl.h>

// ioctl(2) is variadic, which Swift does not import.
int llvs_terminal_columns(int descriptor) {
  struct winsize size;
  if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}
