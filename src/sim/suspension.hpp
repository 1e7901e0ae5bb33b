// Which jobs can be suspended, the host memory that they take meanwhile, and how long it takes to
// copy their GPU memory there and back.
//
// The GPUs of a node are copied one after the other, nodes at the same time. Jobs are indices in
// the trace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "trace/trace.hpp"

namespace berth::sim {

/// Bytes a second; 0: it takes no time.
struct SuspendRate {
  Bytes out{0};   ///< From GPUs to host memory.
  Bytes back{0};  ///< And back.

  bool operator==(const SuspendRate&) const = default;
};

/// By default every job but services, which berthd does not suspend either, can be suspended, goes
/// on anywhere, and takes nothing meanwhile.
struct SuspendModel {
  bool in_place = false;             ///< See Settings::suspends_in_place.
  bool one_gpu_only = false;         ///< No job of several GPUs can be suspended.
  std::int64_t fails = 0;            ///< Percent of the jobs that cannot either, drawn by the seed.
  std::optional<Bytes> host_memory;  ///< Of each node, for suspended jobs; nothing: no bound.
  SuspendRate rate;

  bool is_usual() const { return *this == SuspendModel{}; }
  /// Host memory for suspended jobs on so many nodes together; nothing: no bound.
  std::optional<Bytes> room_on(std::size_t nodes) const;
  bool operator==(const SuspendModel&) const = default;
};

/// `2G:6G`. Errors: InvalidArgument naming the option.
Expected<SuspendRate> parse_suspend_rate(std::string_view text);

class Suspension {
 public:
  /// GPU memory of a job.
  struct OnNode {
    NodeId node;
    Bytes bytes{0};
  };

  /// Requires: the trace outlives it.
  Suspension(const trace::Trace& trace, const SuspendModel& model, std::uint64_t seed);

  /// Or gives way by saving its own state.
  bool can_be(std::size_t job) const;
  /// Takes host memory for what the job has on GPUs, a node at most once. Returns: how long the
  /// copy takes; nothing, and takes nothing, if a node has too little.
  std::optional<Duration> suspend(std::size_t job, std::vector<OnNode> memory);
  /// The job goes on, or ends: gives its host memory back. Returns: how long the copy takes; 0 for
  /// one that is not suspended.
  Duration resume(std::size_t job);
  /// The most that suspended jobs ever took on a node.
  Bytes most() const { return most_; }

 private:
  const trace::Trace& trace_;
  SuspendModel model_;
  std::uint64_t seed_;
  std::map<NodeId, Bytes> taken_;
  std::map<std::size_t, std::vector<OnNode>> suspended_;  ///< By job.
  Bytes most_{0};
};

}  // namespace berth::sim
