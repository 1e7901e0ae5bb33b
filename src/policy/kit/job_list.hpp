// A list of all running and waiting jobs, in an order that its owner sets; arrivals go to the tail.
// Jobs of a user that changed places in line change them here, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/view.hpp"
#include "policy/kit/feasible.hpp"
#include "policy/kit/memory.hpp"
#include "policy/policy.hpp"

namespace berth {

/// The jobs of a repacking policy: jobs that run, wait, or leave their GPUs to wait again.
inline bool is_live(const Job& job) {
  return job.state != JobState::Held && job.state != JobState::Deferred && !job.ending;
}

class JobList {
 public:
  std::vector<JobId>& ids() { return ids_; }
  const std::vector<JobId>& ids() const { return ids_; }

  /// Drops jobs that are gone, appends new ones that can ever be placed.
  void update(const ClusterView& view, std::span<const Event> events, const Placer& placer) {
    impossible_.clear();
    drop_gone(view, events);
    arrived_.clear();
    if (fresh_) append_all(view, placer);
    fresh_ = unchecked_ = false;
    for (const Event& event : events) {
      if (event.kind == EventKind::Submitted) append(view, event.job, placer);
      if (event.kind == EventKind::Requeued) check_again(view, event.job, placer);
    }
    for (const UserId user : users_who_submitted(view, events)) put_in_line(view, user);
  }

  /// The new ones of the last update.
  std::span<const JobId> arrived() const { return arrived_; }

  /// Those that the last update dropped are among these, which ascend.
  std::span<const JobId> gone() const { return gone_; }

  /// Found impossible by the last update: to be rejected.
  void reject_impossible(Decisions& decisions) const {
    for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  }

  /// Nothing for a list that has seen nothing yet.
  Snapshot save() const { return fresh_ ? Snapshot() : saved(ids_); }
  Expected<void> restore(const Snapshot& bytes) {
    fresh_ = bytes.empty();
    unchecked_ = true;
    return restore_into(ids_, bytes, "a list of jobs", [](std::vector<JobId> ids) {
      std::ranges::sort(ids);
      const bool are_jobs = ids.empty() || (ids.front() != JobId(0) && ids.back() <= kLastJob);
      return are_jobs && std::ranges::adjacent_find(ids) == ids.end();
    });
  }

 private:
  static bool may_remove(const Event& event) {
    return event.kind == EventKind::Ended || event.kind == EventKind::Forgotten ||
           event.kind == EventKind::Withdrawn;
  }
  void drop_gone(const ClusterView& view, std::span<const Event> events) {
    const auto is_gone = [&](JobId id) {
      const Job* const job = view.find(id);
      return job == nullptr || !is_live(*job);
    };
    gone_.clear();
    if (fresh_ || unchecked_) std::ranges::copy_if(ids_, std::back_inserter(gone_), is_gone);
    for (const Event& event : events) {
      if (may_remove(event) && is_gone(event.job)) gone_.push_back(event.job);
    }
    if (gone_.empty()) return;
    std::ranges::sort(gone_);
    constexpr std::size_t kFew = 4;
    if (gone_.size() > kFew) {
      std::erase_if(ids_, [&](JobId id) { return std::ranges::binary_search(gone_, id); });
      return;
    }
    for (const JobId id : gone_) {
      const auto found = std::ranges::find(ids_, id);
      if (found != ids_.end()) ids_.erase(found);
    }
  }
  void append(const ClusterView& view, JobId id, const Placer& placer) {
    const Job* const job = view.find(id);
    if (job == nullptr || !is_live(*job)) return;
    if (std::ranges::find(ids_, id) != ids_.end()) return;
    if (std::ranges::find(impossible_, id) != impossible_.end()) return;
    const bool possible =
        holds_berth(job->state) || feasibility_.allows(view.job(id), view, placer);
    (possible ? ids_ : impossible_).push_back(id);
    if (possible) arrived_.push_back(id);
  }
  static std::set<UserId> users_who_submitted(const ClusterView& view,
                                              std::span<const Event> events) {
    std::set<UserId> users;
    for (const Event& event : events) {
      const Job* const job = view.find(event.job);
      const bool has_moved = job != nullptr && job->line_shift != Duration::zero();
      if (has_moved && event.kind == EventKind::Submitted) users.insert(job->spec.user);
    }
    return users;
  }
  /// The user's jobs that never ran, in the places that they have in the list.
  void put_in_line(const ClusterView& view, UserId user) {
    std::vector<std::pair<Instant, JobId>> jobs;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      const Job& job = *view.find(ids_[i]);
      if (job.spec.user != user || !waits_for_its_first_berth(job)) continue;
      jobs.emplace_back(view.job(job.id).in_line_since(), job.id);
      places.push_back(i);
    }
    std::ranges::sort(jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) ids_[places[i]] = jobs[i].second;
  }
  /// A job that ran may have got its berth from another placement, or may ask for more memory now.
  void check_again(const ClusterView& view, JobId id, const Placer& placer) {
    const Job* const job = view.find(id);
    if (job == nullptr || job->state != JobState::Queued) return;
    if (std::ranges::find(ids_, id) == ids_.end()) return;
    if (std::ranges::find(impossible_, id) != impossible_.end()) return;
    if (!feasibility_.allows(view.job(id), view, placer)) impossible_.push_back(id);
  }
  void append_all(const ClusterView& view, const Placer& placer) {
    std::vector<JobId> all(view.running().begin(), view.running().end());
    view.for_each_pending([&](const JobView& job) { all.push_back(job.id()); });
    std::ranges::sort(all);
    for (const JobId id : all) append(view, id, placer);
  }

  std::vector<JobId> ids_;
  std::vector<JobId> impossible_;
  std::vector<JobId> gone_;
  std::vector<JobId> arrived_;
  Feasibility feasibility_;
  bool fresh_ = true;
  bool unchecked_ = false;  ///< As restored: it may name jobs that the view does not know.
};

}  // namespace berth
