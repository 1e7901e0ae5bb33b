#include "daemon/hints.hpp"

#include <algorithm>
#include <cstdio>

namespace berth::daemon {

namespace {

bool names(std::span<const std::string> arguments, std::string_view word) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument.find(word) != std::string::npos;
  });
}

}  // namespace

Variables memory_hints(Bytes vram, Bytes total) {
  if (vram == Bytes(0) || total <= Bytes(0)) return {};
  const double share = static_cast<double>(vram.raw()) / static_cast<double>(total.raw());
  char fraction[16];
  // Rounded down: the fraction is of the whole card, and the request must not be passed.
  std::snprintf(fraction, sizeof fraction, "%.3f", std::max(0.001, share - 0.0005));
  return {
      {"XLA_PYTHON_CLIENT_MEM_FRACTION", fraction},  // JAX takes 75 % of the card at start
      {"TF_FORCE_GPU_ALLOW_GROWTH", "true"},         // TensorFlow takes all of it
  };
}

std::vector<std::string> memory_warnings(std::span<const std::string> arguments) {
  std::vector<std::string> warnings;
  if (names(arguments, "vllm") && !names(arguments, "gpu-memory-utilization") &&
      !names(arguments, "gpu_memory_utilization")) {
    warnings.emplace_back(
        "vLLM takes 90 % of the card whatever was asked for: give it --gpu-memory-utilization");
  }
  return warnings;
}

}  // namespace berth::daemon
