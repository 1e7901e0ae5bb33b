/* A made-up NVML for what the emulated driver never does: old versions, missing functions, refusals
 * and nonsense. Built three times: as it is, with OLD (a driver from before versioned functions),
 * and with EMPTY (no function at all). */
#include "crafted_nvml.h"

#include <string.h>

#define SHOWN __attribute__((visibility("default")))

static const struct CraftedNvml defaults = {
    .gpus = 2, .total = 24ULL << 30, .reserved = 1ULL << 29, .event_type = 8};

SHOWN struct CraftedNvml crafted_nvml;
SHOWN void crafted_nvml_reset(void) { crafted_nvml = defaults; }

#ifndef EMPTY

#define INSUFFICIENT_SIZE 7
#define FIRST_PID 1000

static char handles[64];

static uint32_t index_of(void* device) { return (uint32_t)((char*)device - handles); }

static int get_count(uint32_t* count) {
  *count = crafted_nvml.gpus;
  return 0;
}

static int get_handle(uint32_t index, void** device) {
  if (index == 1 && crafted_nvml.handle_of_gpu_1 != 0) return crafted_nvml.handle_of_gpu_1;
  *device = &handles[index];
  return 0;
}

static uint64_t read_used(void) {
  const uint64_t used = crafted_nvml.used;
  crafted_nvml.used += crafted_nvml.used_grows;
  return used;
}

struct Memory {
  uint64_t total, free, used;
};

/* Counts what is reserved as used, as NVML's first version does. */
SHOWN int nvmlDeviceGetMemoryInfo(void* device, struct Memory* memory) {
  (void)device;
  memory->total = crafted_nvml.total;
  memory->used = read_used() + crafted_nvml.reserved;
  memory->free = memory->total - memory->used;
  return 0;
}

/* Fills the whole buffer and forgets the terminating 0. */
SHOWN int nvmlDeviceGetName(void* device, char* name, uint32_t room) {
  (void)device;
  memset(name, 'x', room);
  return 0;
}

SHOWN int nvmlShutdown(void) {
  ++crafted_nvml.shutdowns;
  return 0;
}

#ifdef OLD

SHOWN int nvmlInit(void) { return crafted_nvml.init; }
SHOWN int nvmlDeviceGetCount(uint32_t* count) { return get_count(count); }
SHOWN int nvmlDeviceGetHandleByIndex(uint32_t index, void** device) {
  return get_handle(index, device);
}

struct Process {
  uint32_t pid;
  uint64_t bytes;
};
#define LIST(kind) nvmlDeviceGet##kind##RunningProcesses

#else

struct Process {
  uint32_t pid;
  uint64_t bytes;
  uint32_t gpu_instance, compute_instance;
};
#define LIST(kind) nvmlDeviceGet##kind##RunningProcesses_v2

SHOWN int nvmlInit_v2(void) { return crafted_nvml.init; }
SHOWN int nvmlDeviceGetCount_v2(uint32_t* count) { return get_count(count); }
SHOWN int nvmlDeviceGetHandleByIndex_v2(uint32_t index, void** device) {
  return get_handle(index, device);
}

SHOWN const char* nvmlErrorString(int result) { return result == 4 ? "Go Away" : 0; }

SHOWN int nvmlDeviceGetMigMode(void* device, uint32_t* current, uint32_t* pending) {
  (void)device;
  *current = *pending = crafted_nvml.mig;
  return 0;
}

struct MemoryV2 {
  uint32_t version;
  uint64_t total, reserved, free, used;
};
SHOWN int nvmlDeviceGetMemoryInfo_v2(void* device, struct MemoryV2* memory) {
  (void)device;
  if (crafted_nvml.memory_v2 != 0) return crafted_nvml.memory_v2;
  if (memory->version != (sizeof(struct MemoryV2) | 2U << 24)) return 25;
  memory->total = crafted_nvml.total;
  memory->reserved = crafted_nvml.reserved;
  memory->used = read_used();
  return 0;
}

SHOWN int nvmlDeviceGetUtilizationRates(void* device, uint32_t* rates) {
  (void)device;
  rates[0] = crafted_nvml.utilisation;
  return 0;
}

struct Use {
  uint32_t pid;
  uint64_t time;
  uint32_t sm, memory, encoder, decoder;
};
SHOWN int nvmlDeviceGetProcessUtilization(void* device, struct Use* uses, uint32_t* count,
                                          unsigned long long since) {
  (void)device;
  const uint32_t room = *count;
  crafted_nvml.use_since = since;
  if (crafted_nvml.process_use != 0) return crafted_nvml.process_use;
  *count = crafted_nvml.uses;
  if (crafted_nvml.uses == 0) return 6;
  if (room < crafted_nvml.uses) return INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < crafted_nvml.uses; ++i) {
    const struct Use use = {.pid = FIRST_PID, .time = 9000000 + i, .sm = crafted_nvml.use_percent};
    uses[i] = use;
  }
  return 0;
}

struct UseInfo {
  uint64_t time;
  uint32_t pid, sm, memory, encoder, decoder, jpeg, optical_flow;
};
struct UseInfos {
  uint32_t version, count;
  unsigned long long since;
  struct UseInfo* list;
};
SHOWN int nvmlDeviceGetProcessesUtilizationInfo(void* device, struct UseInfos* infos) {
  (void)device;
  const uint32_t room = infos->count;
  if (infos->version != (sizeof(struct UseInfos) | 1U << 24)) return 25;
  if (crafted_nvml.processes_use != 0) return crafted_nvml.processes_use;
  infos->count = 1;
  if (infos->list == 0 || room < 1) return INSUFFICIENT_SIZE;
  const struct UseInfo use = {.time = 9000000, .pid = FIRST_PID + 1, .jpeg = 12};
  infos->list[0] = use;
  return 0;
}

struct Pci {
  char legacy[16];
  uint32_t domain, bus, device, id, subsystem;
  char bus_id[32];
};
static int get_pci(uint32_t index, struct Pci* pci) {
  memset(pci, 0, sizeof *pci);
  pci->bus = 16 + index;
  strcpy(pci->bus_id, "long");
  return 0;
}
SHOWN int nvmlDeviceGetPciInfo_v3(void* device, struct Pci* pci) {
  return get_pci(index_of(device), pci);
}
SHOWN int nvmlDeviceGetNvLinkState(void* device, uint32_t link, uint32_t* active) {
  (void)device;
  if (link >= 18) return 2;
  *active = link < crafted_nvml.nvlinks;
  return 0;
}
SHOWN int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, uint32_t link, uint32_t* type) {
  (void)device, (void)link;
  *type = crafted_nvml.switched ? 2 : 0;
  return 0;
}
SHOWN int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, uint32_t link, struct Pci* pci) {
  (void)link;
  return get_pci(1 - index_of(device), pci);
}

SHOWN int nvmlEventSetCreate(void** set) {
  *set = handles;
  return 0;
}
SHOWN int nvmlEventSetFree(void* set) { return set == handles ? 0 : 2; }
SHOWN int nvmlDeviceRegisterEvents(void* device, uint64_t types, void* set) {
  (void)types, (void)set;
  return index_of(device) == 0 ? crafted_nvml.register_gpu_0 : crafted_nvml.register_gpu_1;
}
struct Event {
  void* device;
  uint64_t type, data;
};
/* The first version: its structure ends early. */
SHOWN int nvmlEventSetWait(void* set, struct Event* event, uint32_t milliseconds) {
  (void)set;
  crafted_nvml.waited_milliseconds = milliseconds;
  if (crafted_nvml.wait != 0) return crafted_nvml.wait;
  event->device = &handles[crafted_nvml.event_of_stranger ? 63 : 1];
  event->type = crafted_nvml.event_type;
  event->data = crafted_nvml.event_data;
  return 0;
}

#endif

static int fill(uint32_t there, uint32_t* count, struct Process* entries) {
  const uint32_t room = *count;
  *count = there + crafted_nvml.claimed;
  if (crafted_nvml.list_never_ends) {
    *count = room + 1;
    return INSUFFICIENT_SIZE;
  }
  if (room < there) return INSUFFICIENT_SIZE;
  for (uint32_t i = 0; i < there; ++i) {
    entries[i].pid = FIRST_PID + (crafted_nvml.same_pid ? 0 : i);
    entries[i].bytes = crafted_nvml.bytes;
  }
  return 0;
}

SHOWN int LIST(Compute)(void* device, uint32_t* count, struct Process* entries) {
  (void)device;
  return crafted_nvml.compute_list ? crafted_nvml.compute_list
                                   : fill(crafted_nvml.listed, count, entries);
}

SHOWN int LIST(Graphics)(void* device, uint32_t* count, struct Process* entries) {
  (void)device;
  return crafted_nvml.graphics_list ? crafted_nvml.graphics_list
                                    : fill(crafted_nvml.graphics_too ? 1 : 0, count, entries);
}

#endif
