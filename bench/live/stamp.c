/* A job that says when it ran: appends "START END\n" to a file, nanoseconds of CLOCK_MONOTONIC, and
 * sleeps in between.
 *
 *   bench_stamp FILE MILLISECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  const long long start = now();
  if (argc != 3) return 2;
  const long milliseconds = strtol(argv[2], NULL, 10);
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  const int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  char line[64];
  int size;
  if (file < 0) return 1;
  if (milliseconds > 0) nanosleep(&pause, NULL);
  size = snprintf(line, sizeof line, "%lld %lld\n", start, now());
  return write(file, line, (size_t)size) == size ? 0 : 1;
}
