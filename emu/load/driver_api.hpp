// The CUDA driver API as berth-load uses it: our own declarations, found by dlopen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "emu/emulator.hpp"

namespace berth::emu {

/// Entry points, as libcuda.so.1 exports them. Handles are opaque.
struct DriverApi {
  int (*init)(unsigned flags) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*device_get_count)(int* count) = nullptr;
  int (*device_get_name)(char* name, int length, int device) = nullptr;
  int (*context_create)(void** context, unsigned flags, int device) = nullptr;
  int (*context_set_current)(void* context) = nullptr;
  int (*context_synchronize)() = nullptr;
  int (*memory_allocate)(std::uint64_t* address, std::size_t bytes) = nullptr;
  int (*memory_free)(std::uint64_t address) = nullptr;
  int (*memory_get_info)(std::size_t* free, std::size_t* total) = nullptr;
  int (*memory_set)(std::uint64_t address, unsigned char value, std::size_t bytes) = nullptr;
  int (*memory_read)(void* target, std::uint64_t address, std::size_t bytes) = nullptr;
  int (*module_load_data)(void** module, const void* image) = nullptr;
  int (*module_get_function)(void** function, void* module, const char* name) = nullptr;
  int (*launch_kernel)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, void* stream, void** parameters, void** extra) = nullptr;
  int (*event_create)(void** event, unsigned flags) = nullptr;
  int (*event_record)(void* event, void* stream) = nullptr;
  int (*event_synchronize)(void* event) = nullptr;
  int (*event_elapsed_time)(float* milliseconds, void* start, void* end) = nullptr;
  int (*get_error_name)(int result, const char** name) = nullptr;
  int (*get_error_string)(int result, const char** text) = nullptr;
};

inline constexpr int kDriverSuccess = 0;
inline constexpr int kDriverOutOfMemory = 2;

/// Opens libcuda.so.1, which then stays open. The message says what is missing.
Outcome<DriverApi> open_driver();

/// "CUDA_ERROR_OUT_OF_MEMORY: out of memory".
std::string describe(const DriverApi& api, int result);

}  // namespace berth::emu
