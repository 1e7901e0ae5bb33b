/* A made-up NVML that does as a file says, for what neither a card nor the emulated driver does at
 * will. The file is named by WILFUL_NVML; its first letter is the will from now on:
 *   o  two GPUs of 24 GiB, nobody on them
 *   f  every call fails
 *   l  GPU 1 is lost
 *   h  no call returns until the file says something else */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum { OK = 0, NO_SUCH = 6, TIMED_OUT = 10, LOST = 15, UNKNOWN = 999 };

static char will(void) {
  const char* path = getenv("WILFUL_NVML");
  const int file = open(path == NULL ? "" : path, O_RDONLY | O_CLOEXEC);
  char letter = 'o';
  if (file >= 0 && read(file, &letter, 1) != 1) letter = 'o';
  if (file >= 0) close(file);
  return letter;
}

static int obey(void) {
  char now = will();
  for (; now == 'h'; now = will()) usleep(1000);
  return now == 'f' ? UNKNOWN : OK;
}

static char handles[2];

static int obey_for(void* device) {
  const int result = obey();
  return result == OK && device == &handles[1] && will() == 'l' ? LOST : result;
}

SHOWN const char* nvmlErrorString(int result) {
  return result == LOST ? "GPU is lost" : "Unknown Error";
}
SHOWN int nvmlInit_v2(void) { return obey(); }
SHOWN int nvmlShutdown(void) { return obey(); }

SHOWN int nvmlDeviceGetCount_v2(uint32_t* count) {
  *count = 2;
  return obey();
}

SHOWN int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void** device) {
  if (index >= 2) return NO_SUCH;
  *device = &handles[index];
  return obey_for(*device);
}

SHOWN int nvmlDeviceGetName(void* device, char* name, uint32_t room) {
  strncpy(name, "Wilful", room);
  return obey_for(device);
}

struct MemoryV2 {
  uint32_t version;
  uint64_t total, reserved, free, used;
};
SHOWN int nvmlDeviceGetMemoryInfo_v2(void* device, struct MemoryV2* memory) {
  memory->total = memory->free = 24ULL << 30;
  memory->reserved = memory->used = 0;
  return obey_for(device);
}

SHOWN int nvmlDeviceGetComputeRunningProcesses_v3(void* device, uint32_t* count, void* entries) {
  (void)entries;
  *count = 0;
  return obey_for(device);
}

SHOWN int nvmlEventSetCreate(void** set) {
  *set = handles;
  return obey();
}
SHOWN int nvmlEventSetFree(void* set) {
  (void)set;
  return obey();
}
SHOWN int nvmlDeviceRegisterEvents(void* device, uint64_t types, void* set) {
  (void)types, (void)set;
  return obey_for(device);
}
SHOWN int nvmlEventSetWait_v2(void* set, void* event, uint32_t milliseconds) {
  (void)set, (void)event;
  usleep(milliseconds * 1000);
  const int result = obey();
  return result == OK ? TIMED_OUT : result;
}
