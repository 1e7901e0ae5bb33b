// When each GPU is looked at: all of them now and then, those where memory may be taken more often,
// those that a step waits for at once.
//
// Belongs to the conductor's thread.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "core/view.hpp"
#include "live/pace.hpp"
#include "live/ports.hpp"
#include "live/watcher.hpp"

namespace berth::live {

class Lookout {
 public:
  /// Without eyes nothing is looked at, and no step waits for it. Requires: the watcher outlives
  /// it.
  Lookout(const Hands& hands, Watcher& watcher, std::size_t gpus, Rhythm rhythm)
      : hands_(hands), watcher_(watcher), pacer_(gpus, rhythm), gpus_(gpus) {}

  void look_at_all();
  void look_at(const std::set<GpuId>& gpus) { ask(gpus, Depth::Look); }
  /// Glances at those whose time has come.
  void look_at_due();
  /// A tenant starts there now, or was found there.
  void changed(const Grant& grant);
  /// A look has come. `limited`: tenants that something else keeps to their charges.
  void on_look(const Look& look, const ClusterView& view, const std::set<JobId>& limited);
  bool is_looking() const { return !looking_.empty(); }
  /// GPUs whose look takes too long: the driver hangs. Asks for the next alarm, too.
  std::set<GpuId> take_silent();

  /// True if what is known of a GPU is too old for a step that could start a job. A look that began
  /// since the wait did is new enough, however long the driver took for it.
  bool must_wait();
  void stop_waiting() { waits_since_.reset(); }
  bool is_waiting() const { return waits_since_.has_value(); }

 private:
  enum class Depth { Look, Glance };
  void ask(const std::set<GpuId>& gpus, Depth depth);
  void set_watch();

  const Hands hands_;
  Watcher& watcher_;
  Pacer pacer_;
  std::size_t gpus_;
  std::map<GpuId, Instant> looking_;    ///< GPUs with a look under way, and since when.
  std::optional<Instant> waits_since_;  ///< When the next step began to wait for looks.
};

}  // namespace berth::live
