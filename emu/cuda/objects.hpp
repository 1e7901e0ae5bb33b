// What CUDA handles point to.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "emu/cuda/abi.hpp"

namespace berth::emu {

class Device;

struct Context {
  Device* device;
  unsigned flags = 0;
  bool is_primary = false;
};

struct Function {
  std::string name;
  std::vector<std::size_t> parameter_bytes;
  bool is_spin = false;  // carries its length as first parameter
};

struct Module {
  Context* context;
  std::map<std::string, Function> functions;  // a Function* stays valid while the module lives
};

struct Stream {
  Context* context;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t target = 0;  // virtual time at which all its work has ended
};

struct Event {
  Context* context;
  unsigned flags = 0;
  bool is_recorded = false;
  std::uint64_t target = 0;
  std::uint64_t reached_nanoseconds = 0;  // real time; 0 while not known
};

/// The one pool of a device. Memory freed to it goes back to the GPU at once.
struct MemoryPool {
  Device* device;
  std::uint64_t release_threshold = 0;
  std::uint64_t high_bytes = 0;
};

}  // namespace berth::emu
