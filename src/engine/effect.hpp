// The effects of a step: orders to a shell, performed in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/ids.hpp"
#include "core/decision.hpp"
#include "core/job.hpp"

namespace berth {

/// How a job is stopped before its end.
enum class PreemptHow : std::uint8_t { Suspend, Requeue, Kill };

/// Why a job is stopped; the shell may give more or less time to comply.
enum class StopFor : std::uint8_t {
  Cancel,
  Preemption,
  Suspension,  ///< Its user asked for that.
  Migration,
  LeaseEnd,
  TimeLimit,
  GpuFailure,  ///< It runs again on others.
  Overrun,     ///< It holds GPU memory that was granted to others: stop at once.
  Surplus,     ///< Others wait for what it holds beyond its grant: stop at once.
  Trespass,    ///< It holds memory of a GPU that it was not given: stop at once.
};

/// Launch the job on these GPUs; answer with Started or StartFailed.
struct Launch {
  JobId job;
  Attempt attempt;
  Grant grant;
};
/// Continue a suspended job on these GPUs, as a new attempt; answer with Started or StartFailed.
struct Continue {
  JobId job;
  Attempt attempt;
  Grant grant;
};
/// Stop the job; answer with Exited if it ended, and Released when its GPU memory is measured free.
struct Stop {
  JobId job;
  Attempt attempt;
  PreemptHow how = PreemptHow::Kill;
  StopFor why = StopFor::Cancel;
};
/// The job is over and holds nothing. The engine forgets it.
struct Finished {
  JobId job;
  Outcome outcome = Outcome::Done;
  std::int32_t code = 0;
  std::string note;
  Instant at;              ///< When its process ended; when it was decided, for a job without one.
  std::string ahead = {};  ///< The note as a forecast says it, where that is not the same.
};
/// A neighbour's overrun ended this attempt, or foreign use did; its user gets a message.
struct Hurt {
  JobId job;
  Attempt attempt;
  Overrun by;
  bool runs_again = false;  ///< With the same request, in its old place in the queue.
};

/// This attempt failed so soon after it was resumed that the suspension is taken for the cause. The
/// job begins again from nothing, and is not suspended any more.
struct Spoiled {
  JobId job;
  Attempt attempt;
  Duration after{0};  ///< It ran for so long since it was resumed.
};

/// The policy's question, for a solver on another thread; answer with Solved. No other is open.
struct Consult {
  Question question;
};

using Effect = std::variant<Launch, Continue, Stop, Finished, Hurt, Spoiled, Consult>;

struct Effects {
  std::vector<Effect> list;
  std::optional<Instant> wake_at;   ///< Send Ticked then, if nothing else happens before.
  std::vector<Decision> decisions;  ///< Those that took effect, in order; for the journal.
};

}  // namespace berth
