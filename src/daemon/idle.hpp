// Jobs that have GPUs and run no kernel: they are warned of, and suspended or ended where that is
// configured. doc/configuration.md, idle_after.
//
// A job counts as idle since the last look at any of its GPUs that showed a kernel of its there, or
// since it began: one busy look in an hour is enough not to be idle, whatever the mean. One that
// holds no memory yet is idle too, however good its reasons are: how long a job may compile or load
// before its first kernel is for `idle_after` to say. A look without a figure
// counts as busy, and so do kernels of a job's neighbours where the driver tells one figure for the
// GPU. Belongs to the engine's thread; instants are given.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "core/view.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// With which the note of an idle job begins.
inline constexpr std::string_view kIdle = "idle: ";

struct IdleRules {
  Duration after = kForever;    ///< Until its user is told.
  Duration suspend = kForever;  ///< Until it is suspended, if it can be.
  Duration end = kForever;      ///< Until it is ended.

  bool operator==(const IdleRules&) const = default;
};

/// Since when a job is idle, and whether it holds memory of a GPU.
struct Idleness {
  Instant since;
  bool holds = false;
};

class IdleWatch {
 public:
  struct Hooks {
    /// It is idle; again after it was busy.
    std::function<void(JobId, const Idleness&)> warn;
    std::function<void(JobId)> busy_again;  ///< Of one that was warned of, or runs on.
    std::function<void(JobId, const Idleness&)> suspend;
    std::function<void(JobId, const Idleness&)> end;
  };
  IdleWatch(const IdleRules& rules, Hooks hooks) : rules_(rules), hooks_(std::move(hooks)) {}

  void set(const IdleRules& rules) { rules_ = rules; }
  void on_look(const live::Look& look, const ClusterView& view, Instant now);

 private:
  enum class Told : std::uint8_t { Nothing, Warned, Suspended, Ended };
  struct Seen {
    Attempt attempt;
    std::map<GpuId, Instant> busy;  ///< The last look that showed a kernel, or its first.
    std::set<GpuId> holds;          ///< Where it holds memory.
    Told told = Told::Nothing;
  };
  void judge(const Job& of, Seen& seen, Instant now);

  IdleRules rules_;
  const Hooks hooks_;
  std::map<JobId, Seen> seen_;
};

}  // namespace berth::daemon
