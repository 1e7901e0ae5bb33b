#include "gpu/support.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace berth::test {

namespace {

/// A symbol of a made-up driver, which is there as surely as this test was built.
void* symbol(const std::string& kind, const char* name) {
  void* const library = dlopen(crafted_library(kind).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, name);
  if (found == nullptr) std::abort();
  return found;
}

CraftedNvml& knobs(const std::string& kind) {
  return *static_cast<CraftedNvml*>(symbol(kind, "crafted_nvml"));
}

}  // namespace

std::unique_ptr<Nvml> open_emulated(const emu::test::Machine& machine) {
  setenv("BERTH_EMU_STATE", machine.state().c_str(), 1);
  auto nvml = Nvml::open(EMU_LIBRARY_DIRECTORY "/libnvidia-ml.so.1");
  if (!nvml) {
    ADD_FAILURE() << nvml.error().message;
    return nullptr;
  }
  return std::move(*nvml);
}

std::string crafted_library(const std::string& kind) {
  return CRAFTED_DIRECTORY "/libcrafted_nvml_" + kind + ".so";
}

void reset_crafted(const std::string& kind) {
  reinterpret_cast<void (*)()>(symbol(kind, "crafted_nvml_reset"))();
}

void set_crafted(const std::string& kind, void change(CraftedNvml&)) { change(knobs(kind)); }

const CraftedNvml& crafted(const std::string& kind) { return knobs(kind); }

Sample sample_of(GpuPort& gpus, std::uint32_t device) {
  const auto sample = gpus.sample(device);
  if (!sample) {
    ADD_FAILURE() << sample.error().message;
    return {};
  }
  return *sample;
}

}  // namespace berth::test
