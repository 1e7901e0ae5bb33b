// What a policy says. The engine checks each decision and drops one that is not valid.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/ask.hpp"
#include "core/base/ids.hpp"
#include "core/base/question.hpp"
#include "core/base/time.hpp"
#include "core/job.hpp"
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

/// A waiting job starts, or continues where it was suspended, on any number of GPUs from the fewest
/// to the most that it runs with. Said of one that runs where it runs: its lease begins anew.
struct Start {
  JobId job;
  Placement placement;
  Because because = Because::ItsTurn;
  Duration term = kForever;  ///< A lease: the engine ends the berth then.
  GpuMilli milli{0};         ///< Compute share of each GPU; zero: as the job asks.
  Role role = Role::Owner;
  ShareMode share = ShareMode::TimeSlice;  ///< Or Mps: as Grant::share.
};
struct Preempt {
  JobId job;
  Because because = Because::Outranked;
};
struct Migrate {
  JobId job;
  Placement placement;
  Because because = Because::Moved;
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

using Decision = std::variant<Start, Preempt, Migrate, Reserve, Classify, Reject>;

/// In order of effect. `wake_at` asks for a pass then, if nothing happens before; later than now.
/// The answer to `question` comes later, or never: a restart forgets it.
struct Decisions {
  std::vector<Decision> list;
  std::optional<Instant> wake_at;
  std::optional<Question> question = std::nullopt;
};

}  // namespace berth
