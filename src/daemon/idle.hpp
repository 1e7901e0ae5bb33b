// Jobs that hold GPU memory and run no kernel: they are warned of, and suspended or ended where
// that is configured. doc/configuration.md, idle_after.
//
// A job counts as idle since the last look at any of its GPUs that showed a kernel of its there:
// one busy look in an hour is enough not to be idle, whatever the mean. A look without a figure
// counts as busy, and so do kernels of a job's neighbours where the driver tells one figure for the
// GPU. Belongs to the engine's thread; instants are given.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/time.hpp"
#include "core/view.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

struct IdleRules {
  Duration after = kForever;    ///< Until its user is told.
  Duration suspend = kForever;  ///< Until it is suspended, if it can be.
  Duration end = kForever;      ///< Until it is ended.

  bool operator==(const IdleRules&) const = default;
};

class IdleWatch {
 public:
  struct Hooks {
    /// It is idle since then; again after it was busy.
    std::function<void(JobId, Instant)> warn;
    std::function<void(JobId)> busy_again;  ///< Of one that was warned of, or runs on.
    std::function<void(JobId, Instant)> suspend;
    std::function<void(JobId, Instant)> end;
  };
  IdleWatch(const IdleRules& rules, Hooks hooks) : rules_(rules), hooks_(std::move(hooks)) {}

  void set(const IdleRules& rules) { rules_ = rules; }
  void on_look(const live::Look& look, const ClusterView& view, Instant now);

 private:
  enum class Told : std::uint8_t { Nothing, Warned, Suspended, Ended };
  struct Seen {
    Attempt attempt;
    std::map<GpuId, Instant> busy;  ///< The last look that showed a kernel, or no memory of it.
    Told told = Told::Nothing;
  };
  void judge(const Job& of, Seen& seen, Instant now);

  IdleRules rules_;
  const Hooks hooks_;
  std::map<JobId, Seen> seen_;
};

}  // namespace berth::daemon
