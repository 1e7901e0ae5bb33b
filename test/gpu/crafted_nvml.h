/* The knobs of crafted_nvml.c: what the made-up driver answers from now on. */
#pragma once

#include <stdint.h>

struct CraftedNvml {
  int init;               /* results, as NVML numbers them */
  int memory_v2;
  int handle_of_gpu_1;
  int compute_list;
  int graphics_list;
  int register_gpu_0;
  int register_gpu_1;
  int wait;
  uint32_t gpus;
  uint32_t mig;           /* 1: on */
  uint32_t utilisation;
  int process_use;        /* result of the first call; 3: the later call answers */
  int processes_use;      /* result of the later call */
  uint32_t uses;          /* periods that are remembered, all of the first process */
  uint32_t use_percent;
  uint64_t use_since;     /* what the last call was asked for */
  uint64_t total;
  uint64_t reserved;
  uint64_t used;
  uint64_t used_grows;    /* by this at every reading */
  uint32_t listed;        /* compute processes there are */
  uint32_t claimed;       /* more than there are, said to be returned */
  int list_never_ends;    /* always needs more room than given */
  uint64_t bytes;         /* of each process */
  int same_pid;           /* every entry is of one process */
  int graphics_too;       /* and the first of them does graphics */
  uint32_t nvlinks;       /* per GPU */
  int switched;           /* they lead to switches, else to the other GPU */
  uint64_t event_type;
  uint64_t event_data;
  int event_of_stranger;  /* from a GPU that was never listed */
  uint32_t waited_milliseconds;  /* what the last wait was asked for */
  uint32_t shutdowns;
};
