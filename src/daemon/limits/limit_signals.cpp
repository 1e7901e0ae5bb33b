#include "daemon/limits/limit_signals.hpp"

#include <algorithm>
#include <optional>

namespace berth::daemon {

void LimitSignals::on_began(const Job& job, const live::Command& command) {
  if (!command.warning || job.spec.time_limit == kForever) return;
  waiting_.insert_or_assign(job.id, *command.warning);
  look();
}

/// Sends what is due and waits for the next. One that does not run waits for on_began().
void LimitSignals::look() {
  std::optional<Duration> next;
  std::erase_if(waiting_, [&](const auto& entry) {
    const auto& [id, warning] = entry;
    const Job* const job = keeper_.engine().view().find(id);
    if (job == nullptr || job->ending) return true;
    if (job->state != JobState::Running) return false;
    const Duration left = job->spec.time_limit - run_of(*job, clock_.now()) - warning.before;
    if (left > Duration::zero()) {
      next = std::min(left, next.value_or(left));
      return false;
    }
    launcher_.warn(id, job->attempt, warning.signal);
    return true;
  });
  if (next) alarm_.set(*next);
}

}  // namespace berth::daemon
