/* Tell berth how a job is doing: berth_report("loss", 0.25). Does nothing outside a berth job. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static inline void berth_report(const char* key, double value) {
  const char *path = getenv("BERTH_REPORT"), *job = getenv("BERTH_JOB_ID");
  struct sockaddr_un address;
  char line[256];
  if (!path || strlen(path) >= sizeof address.sun_path) return;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path, path);
  const int size = snprintf(line, sizeof line, "%s %s %.10g\n", job ? job : "0", key, value);
  const int channel = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (channel < 0) return;
  if (size > 0 && size < (int)sizeof line)
    (void)sendto(channel, line, (size_t)size, MSG_NOSIGNAL, (struct sockaddr*)&address,
                 sizeof address);
  close(channel);
}
