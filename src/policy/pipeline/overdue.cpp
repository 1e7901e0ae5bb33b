#include "policy/pipeline/overdue.hpp"

#include <algorithm>

#include "core/base/wide.hpp"
#include "policy/pipeline/walk.hpp"

namespace berth {

Instant due_of(const JobView& job, const OverdueAfter& after) {
  const Wide most = micros(after.most);
  const Wide times = Wide{micros(job.estimate())} * after.milli / 1000;
  const auto wait = static_cast<std::int64_t>(std::min(times, most));
  return later(job.in_line_since(), job.estimate() == kForever ? after.most : Duration(wait));
}

void Overdue::follow(const PassContext& context) {
  if (after_.milli == 0) return;
  if (context.is_fresh) {
    *this = Overdue(after_);
    context.view.for_each_pending([&](const JobView& job) { update(job.id(), context.view); });
  } else {
    for (const Event& event : context.events) update(event.job, context.view);
  }
}

void Overdue::update(JobId id, const ClusterView& view) {
  const Job* const job = view.find(id);
  if (job == nullptr || !is_waiting(job->state)) return due_.erase(id);
  due_.set(id, due_of(view.job(id), after_));
}

}  // namespace berth
