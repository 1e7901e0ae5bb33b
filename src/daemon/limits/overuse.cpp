#include "daemon/limits/overuse.hpp"

namespace berth::daemon {

void OveruseWatch::look(const Engine& engine) {
  if (rule_ == Overuse::Keep && told_.empty()) return;
  std::map<JobId, Told> told;
  if (rule_ != Overuse::Keep) {
    for (const live::WantedSurplus& found : live::wanted_surplus(engine)) {
      const Told now{.attempt = found.attempt, .rule = rule_};
      const auto before = told_.find(found.holder);
      told[found.holder] = now;
      if (before != told_.end() && before->second == now) continue;
      (rule_ == Overuse::End ? hooks_.end : hooks_.warn)(found);
    }
  }
  for (const auto& [job, before] : told_) {
    const Job* const known = engine.view().find(job);
    const bool runs_on =
        known != nullptr && is_running(known->state) && known->attempt == before.attempt;
    if (runs_on && !told.contains(job)) hooks_.settled(job);
  }
  told_ = std::move(told);
}

}  // namespace berth::daemon
