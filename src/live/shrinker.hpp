// Lowers the charges of jobs whose users allow it to what they were seen to hold (core/shrink.hpp).
//
// Watches the looks at GPUs: once an attempt has been seen for the warm-up, its most so far counts,
// once on each of its GPUs. What it takes beyond later is measured as ever. A daemon that starts
// anew has seen nothing and waits for a whole warm-up again. Pure bookkeeping; belongs to the
// engine's thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/input.hpp"
#include "core/shrink.hpp"
#include "core/view.hpp"
#include "live/ports.hpp"

namespace berth::live {

class Shrinker {
 public:
  /// `allows` is asked once for each attempt that is seen.
  Shrinker(const ShrinkRule& rule, std::function<bool(const Job&)> allows)
      : rule_(rule), allows_(std::move(allows)) {}

  /// Returns: the charges that fall by what this look adds.
  std::vector<Input> on_look(const Look& look, const ClusterView& view);

 private:
  struct Seen {
    Attempt attempt;
    Instant from;
    bool is_allowed = false;
    std::map<GpuId, Bytes> peaks;
    std::set<GpuId> done;
  };

  Seen& seen(const Job& job, Instant at);
  void forget_ended(const ClusterView& view);

  ShrinkRule rule_;
  std::function<bool(const Job&)> allows_;
  std::map<JobId, Seen> seen_;
};

}  // namespace berth::live
