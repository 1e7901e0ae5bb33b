// What a policy says. The engine checks each decision and drops one that is not valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ask.hpp"
#include "core/ids.hpp"
#include "core/job.hpp"
#include "core/time.hpp"
#include "core/trial.hpp"

namespace berth {

/// Why a decision was taken; shown to users beside it.
enum class Because : std::uint8_t {
  ItsTurn,     ///< First in order among those that fit.
  Backfilled,  ///< Starts ahead of a reserved job without delaying it.
  Outranked,   ///< Gives way to a job that goes first.
  Moved,       ///< Changes place so that another fits.
  Waits,       ///< Cannot start yet; a place is kept for it.
  Impossible,  ///< Can never start on this cluster.
};

/// How a job is stopped before its end.
enum class PreemptHow : std::uint8_t { Suspend, Requeue, Kill };

struct Start {
  JobId job;
  Placement placement;
  Because because = Because::ItsTurn;
  Duration term = kForever;          ///< A lease; LeaseExpired follows.
  std::int32_t share_percent = 100;  ///< Of each GPU's compute, where the share mode can cap it.
};
struct Preempt {
  JobId job;
  PreemptHow how = PreemptHow::Suspend;
  Because because = Because::Outranked;
};
struct Resume {
  JobId job;
  Placement placement;
  Because because = Because::ItsTurn;
};
struct Migrate {
  JobId job;
  Placement placement;
  Because because = Because::Moved;
};
struct Resize {
  JobId job;
  GpuCount gpus;
};
struct Tune {
  JobId job;
  std::string knob;
  std::int64_t value = 0;
};
/// The places kept from now on; replaces those of the decision before. Usually none or one.
struct Reserve {
  std::vector<Hold> holds;
  Because because = Because::Waits;
};
struct Classify {
  JobId job;
  DurationClass duration_class = DurationClass::Medium;
};
struct Reject {
  JobId job;
  Because because = Because::Impossible;
};

using Decision =
    std::variant<Start, Preempt, Resume, Migrate, Resize, Tune, Reserve, Classify, Reject>;

/// In order of effect. `wake_at` asks for a pass then, if nothing happens before; later than now.
struct Decisions {
  std::vector<Decision> list;
  std::optional<Instant> wake_at;
};

}  // namespace berth
