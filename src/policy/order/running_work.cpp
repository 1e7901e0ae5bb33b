#include "policy/order/running_work.hpp"

#include <algorithm>

#include "policy/kit/classes.hpp"

namespace berth {

void RunningWork::count(const Entry& entry, int sign) {
  parts_ += entry.part * sign;
  ends_ += entry.end * sign;
  still_ += entry.still * sign;
}

void RunningWork::erase(JobId id) {
  done_.erase(id);
  const Entry* const entry = entries_.find(id);
  if (entry == nullptr) return;
  count(*entry, -1);
  entries_.erase(id);
}

void RunningWork::update(JobId id, const ClusterView& view, const ClassJudge& judge) {
  erase(id);
  const Job* const found = view.find(id);
  if (found == nullptr || !holds_berth(found->state)) return;
  const JobView job(*found, view.now());
  const Duration run = supposed_run(job, judge.class_of(job), judge.bounds());
  const Duration left = run - job.progressed();
  if (left <= Duration::zero()) return;
  const Work part = part_of(ask_of(job), view.cluster());
  Entry entry;
  if (found->ended) {
    entry.still = part * micros(left);
  } else {
    entry = {.part = part, .end = part * (Wide{micros(view.now())} + micros(left))};
    done_.set(id, later(view.now(), left));
  }
  entries_.insert(id, entry);
  count(entry, 1);
}

void RunningWork::follow(const ClusterView& view, std::span<const Event> events,
                         const ClassJudge& judge, bool is_fresh) {
  const auto look_at = [&](JobId id) { update(id, view, judge); };
  if (is_fresh) {
    *this = RunningWork();
    std::ranges::for_each(view.running(), look_at);
  }
  std::ranges::for_each(events, look_at, &Event::job);
  for (const auto& [id, is] : judge.judged()) look_at(id);
  std::ranges::for_each(done_.take_due(view.now()), [&](JobId id) { erase(id); });
}

}  // namespace berth
