// Every way to share two GPUs, over several seeds, live and simulated side by side: tools/eval.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::lab {

struct EvaluationOptions {
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  std::string folder = "doc";  ///< Gets evaluation.md and evaluation.json.
  int at_once = 2;             ///< Live runs beside each other: their jobs mostly sleep.
};

/// Returns: 0 if every run was made and the guarantee lost no job by admission, live or simulated.
int run_evaluation(const EvaluationOptions& options);

}  // namespace berth::lab
