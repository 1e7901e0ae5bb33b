// Every way to share two GPUs, over several seeds, live and simulated side by side: a part of
// tools/eval.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth::lab {

struct EvaluationOptions {
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  std::string folder = "build/eval";  ///< Gets live.json.
  int at_once = 2;                    ///< Live runs beside each other: their jobs mostly sleep.
};

/// Returns: 0 if every run was made and the guarantee lost no job by admission, live or simulated.
int run_evaluation(const EvaluationOptions& options);

/// What live.json says, as a section of a document. Errors: BadData for another text.
Expected<std::string> live_section(const nlohmann::json& live);

}  // namespace berth::lab
