// The demonstration: four ways to share two GPUs, then two things that go wrong.
#pragma once

#include <cstdint>
#include <string>

namespace berth::lab {

struct DemoOptions {
  std::uint64_t seed = 1;
  std::string gpus = "2x24GiB";
};

/// Returns: 0 if nothing failed by itself and the guarantee lost no job by admission.
int run_demo(const DemoOptions& options);

}  // namespace berth::lab
