// berth-load's command line. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/emulator.hpp"

namespace berth::emu {

/// What is held when so much of the work is done.
struct CurvePoint {
  std::uint64_t nanoseconds = 0;  // of steps on a GPU of its own
  std::uint64_t bytes = 0;
  bool operator==(const CurvePoint&) const = default;
};

struct LoadOptions {
  std::uint64_t vram_bytes = 0;
  std::uint64_t ramp_nanoseconds = 0;   // until vram_bytes are reached
  std::uint64_t spike_bytes = 0;        // held for the last fifth of every period
  std::uint64_t spike_nanoseconds = 0;  // the period
  std::uint64_t grow_bytes_per_second = 0;
  std::vector<CurvePoint> curve;  // ascending in time; none: vram_bytes and what is above
  std::uint64_t steps = 100;      // 0: for ever
  std::uint64_t step_nanoseconds = 10000000;
  double duty = 0.5;  // share of a step on the GPU
  int exit_code = 0;
  std::uint64_t fault_at = 0;  // step whose kernel traps; 0: none
  bool checks = false;         // at the end: that the memory has what was written to it
  bool tells_times = false;    // in its lines: what kernels took
  bool keeps = false;          // when out of memory: takes what there is and goes on
  int gpus = 1;
  int first = 0;                    // number of the first of them
  std::uint64_t report_every = 50;  // steps per line; 0: none
  bool help = false;
};

extern const char* const kLoadHelp;

/// The message of a refusal names flag, value and limit.
Outcome<LoadOptions> parse_load_options(const std::vector<std::string_view>& words);

}  // namespace berth::emu
