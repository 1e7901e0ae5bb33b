// Jobs that have GPUs and run no kernel: they are warned of, and suspended or ended where that is
// configured. doc/configuration.md, idle_after.
//
// A job counts as idle since the last look at any of its GPUs that showed a kernel of its there, or
// since it began: one busy look in an hour is enough not to be idle, whatever the mean. One that
// holds no memory yet is idle too, however good its reasons are: how long a job may compile or load
// before its first kernel is for `idle_after` to say. A look without a figure counts as busy, a
// glance as nothing, and kernels of a job's neighbours as its own where the driver tells one figure
// for the GPU. What is known of idle jobs is kept for a berthd after this one, which goes on with
// it unless nobody looked for longer than a minute: what is unknown accuses nobody. Belongs to the
// engine's thread; instants are given.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/base/time.hpp"
#include "core/view.hpp"
#include "live/ports.hpp"

namespace berth::daemon {

/// With which the note of an idle job begins.
inline constexpr std::string_view kIdle = "idle: ";

/// Of a job that has ended: the note in the past tense, if it is that of an idle job; else as it
/// is.
std::string idle_in_past(std::string note);

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
    /// A berthd before this one warned of it, and it has been idle since.
    std::function<void(JobId, const Idleness&)> was_warned;
    std::function<void(JobId)> busy_again;  ///< Of one that was warned of, or runs on.
    std::function<void(JobId, const Idleness&)> suspend;
    std::function<void(JobId, const Idleness&)> end;
    /// The text that restore() of the next berthd is to get.
    std::function<void(const std::string&)> keep;
  };
  IdleWatch(const IdleRules& rules, Hooks hooks) : rules_(rules), hooks_(std::move(hooks)) {}

  void set(const IdleRules& rules) { rules_ = rules; }
  void on_look(const live::Look& look, const ClusterView& view, Instant now);

  /// Ignores what it cannot read. Before the first look.
  void restore(std::string_view text);
  /// Has what is known now kept, as is done every few seconds, and at once where it matters.
  void keep(Instant now);

 private:
  enum class Told : std::uint8_t { Nothing, Warned, Suspended, Ended };
  struct Seen {
    Attempt attempt;
    Instant from;                   ///< Since when it is idle if no look shows a kernel of it.
    std::map<GpuId, Instant> busy;  ///< The last look that showed a kernel, or `from`.
    std::set<GpuId> holds;          ///< Where it holds memory.
    Told told = Told::Nothing;
    bool is_noted = true;  ///< What was told of it; not yet where a berthd before told it.
  };
  /// As a berthd kept it.
  struct Kept {
    Attempt attempt;
    Instant since;
    bool is_told = false;
    Instant at;  ///< When it was kept.
  };
  Seen first_seen(const Job& job, Instant now) const;
  void judge(const Job& of, Seen& seen, Instant now);
  void tell(const Job& of, Seen& seen, Instant now);

  IdleRules rules_;
  const Hooks hooks_;
  std::map<JobId, Seen> seen_;
  std::map<JobId, Kept> kept_;  ///< What a next berthd would find.
  Instant kept_at_ = kStart;
  bool must_keep_ = false;
};

}  // namespace berth::daemon
