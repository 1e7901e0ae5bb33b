// What the agent of a Slurm node tells of its GPUs, as a line of text: it goes into the node's
// Extra field, which only Slurm's administrators can write, and berth-slurm reads it there.
//
// Pure functions. Amounts are in MiB, rounded up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"

namespace berth::node {

/// What the processes of one of Slurm's jobs hold of a GPU.
struct NodeHolding {
  std::uint32_t job = 0;
  Bytes now{0};
  Bytes most{0};                ///< Since the report before.
  std::uint32_t processes = 0;  ///< On this GPU.

  bool operator==(const NodeHolding&) const = default;
};

struct NodeGpu {
  std::uint32_t index = 0;  ///< N of Slurm's /dev/nvidiaN.
  Bytes usable{0};          ///< What there is of it, without what the driver keeps.
  Bytes used{0};
  Bytes other{0};  ///< Of processes that are no job's, and of those that are unknown.
  std::vector<NodeHolding> jobs;  ///< By job, ascending.
  std::string problem;            ///< Why nothing is known of it; "" if something is.
  bool is_lost = false;           ///< That is because it has fallen off the bus.

  bool operator==(const NodeGpu&) const = default;
};

struct NodeReport {
  std::int64_t at = 0;             ///< Seconds since 1970, by the node's clock.
  Duration every = Duration(0);    ///< The next report comes by then, changed or not.
  std::vector<NodeGpu> gpus = {};  ///< Ascending.

  bool operator==(const NodeReport&) const = default;
};

/// `berth-agent at=1764087000 every=30 gpu=0 usable=81559 used=20492 other=12 job=23:20480:20480:1`
/// in one line; of a job: its number, what it holds, the most, and the number of its processes. A
/// GPU of which nothing is known has `problem=GPU_is_lost` instead of amounts, and then `lost`
/// where the driver says so.
std::string to_text(const NodeReport& report);

/// Nothing for a text that is no agent's. Errors: BadData naming the word that is wrong.
Expected<std::optional<NodeReport>> parse_node_report(std::string_view text);

}  // namespace berth::node
