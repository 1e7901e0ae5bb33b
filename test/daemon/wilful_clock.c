/* To be preloaded: the machine's wall clock, ahead by as many seconds as the file says that
 * WILFUL_CLOCK names. Other clocks stay as they are. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long seconds_ahead(void) {
  const char* path = getenv("WILFUL_CLOCK");
  const int file = open(path == NULL ? "" : path, O_RDONLY | O_CLOEXEC);
  char text[32] = "";
  if (file >= 0 && read(file, text, sizeof text - 1) < 0) text[0] = '\0';
  if (file >= 0) close(file);
  return atol(text);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec* time) {
  const int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += seconds_ahead();
  return result;
}
