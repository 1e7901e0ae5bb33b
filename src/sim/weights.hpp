// What users' shares go by in a run: their weights, by their names in the trace, and the values of
// types of GPU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/settings.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// In thousandths.
using NamedWeights = std::map<std::string, std::int64_t>;

/// `alice=2,bob=0.5`. Errors: InvalidArgument naming the text.
Expected<NamedWeights> parse_weights(std::string_view text);

/// A CSV of two columns, names and weights; a first line that has no number there is a header.
/// Errors: BadData naming file and line.
Expected<NamedWeights> read_weights(std::string_view text, std::string_view file);

/// `v100=1,k80=0.3`. Errors: InvalidArgument naming the text.
Expected<GpuValues> parse_gpu_values(std::string_view text);

struct Weights {
  std::map<UserId, std::int64_t> by_user;
  std::vector<std::string> strangers;  ///< Names that no job of the trace has, ascending.
};

Weights weights_of(const trace::Trace& trace, const NamedWeights& named);

}  // namespace berth::sim
