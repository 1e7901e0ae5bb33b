#include "policy/whole/muri_plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace berth {

namespace {

constexpr Duration kPatience = minutes(1);                     ///< For an answer.
constexpr std::int64_t kMuriMostGpus = std::int64_t{1} << 32;  ///< So that sums fit.

}  // namespace

bool is_sane(const MuriPlan& plan) {
  std::set<std::size_t> seen;
  const auto is_group = [&](const MuriGroup& group) {
    return !group.empty() && group.size() <= kMuriMost &&
           std::ranges::all_of(group, [&](std::size_t job) {
             return job < plan.ids.size() && seen.insert(job).second;
           });
  };
  const auto is_edge = [&](const Edge& edge) {
    return std::max(edge.one, edge.other) < plan.groups.list.size();
  };
  const auto is_job = [](const MuriJob& job) { return job.gpus > 0 && job.gpus <= kMuriMostGpus; };
  return plan.groups.need >= 0 && plan.jobs.size() == plan.ids.size() &&
         std::ranges::all_of(plan.jobs, is_job) &&
         std::ranges::all_of(plan.groups.list, is_group) &&
         (!plan.asked || std::ranges::all_of(plan.asked->edges, is_edge));
}

Question ask(MuriPlan& plan, Matching matching, Instant now) {
  Question question{matching};
  plan.asked = std::move(matching);
  plan.number = question.number();
  plan.until = later(now, kPatience);
  return question;
}

bool take_answer(MuriPlan& plan, const ClusterView& view) {
  const Answer* const answer = view.answer_to(plan.number);
  if (answer == nullptr && view.now() < plan.until) return false;
  if (answer != nullptr && answer->values.size() == plan.asked->edges.size()) {
    muri_join(plan.jobs, plan.groups, *plan.asked, answer->values);
  } else {
    plan.groups.rounds = kMuriMost;
  }
  plan.asked.reset();
  for (MuriGroup& group : plan.groups.list) {
    const std::int64_t gpus = plan.jobs[group[0]].gpus;
    std::erase_if(group, [&](std::size_t job) {
      const Job* const known = view.find(plan.ids[job]);
      return known == nullptr || !is_live(*known);
    });
    if (group.empty()) plan.groups.need -= gpus;
  }
  std::erase_if(plan.groups.list, [](const MuriGroup& group) { return group.empty(); });
  return true;
}

}  // namespace berth
