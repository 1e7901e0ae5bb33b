// What the tests of level gpu share: a real dlopen of the emulated driver and of made-up ones.
#pragma once

#include <memory>
#include <string>

#include "emu/support.hpp"
#include "gpu/crafted_nvml.h"
#include "gpu/nvml.hpp"

namespace berth::test {

/// NVML on emulated GPUs, as a process that joined them opens it.
std::unique_ptr<Nvml> open_emulated(const emu::test::Machine& machine);

/// A made-up driver: "plain", "old" or "empty".
std::string crafted_library(const std::string& kind);

/// Gives a made-up driver its first answers back. Requires: called before anything else of it is.
void reset_crafted(const std::string& kind);
/// Sets a made-up driver's answers.
void set_crafted(const std::string& kind, void change(CraftedNvml&));
const CraftedNvml& crafted(const std::string& kind);

/// The sample of GPU 0; fails the test if there is none.
Sample sample_of(GpuPort& gpus, std::uint32_t device = 0);

}  // namespace berth::test
