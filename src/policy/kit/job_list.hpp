// A list of every job that runs or waits, in an order its owner keeps; arrivals go to the tail.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "core/view.hpp"
#include "policy/kit/feasible.hpp"
#include "policy/policy.hpp"

namespace berth {

/// Jobs a repacking policy deals with: those that run, wait, or leave their GPUs to wait again.
inline bool is_live(const Job& job) { return job.state != JobState::Held && !job.ending; }

class JobList {
 public:
  std::vector<JobId>& ids() { return ids_; }
  const std::vector<JobId>& ids() const { return ids_; }

  /// Drops who is gone and appends who is new and can ever be placed. Returns: how many are new.
  std::size_t update(const ClusterView& view, std::span<const Event> events, const Placer& placer) {
    impossible_.clear();
    drop_gone(view, events);
    const std::size_t before = ids_.size();
    if (fresh_) append_all(view, placer);
    fresh_ = unchecked_ = false;
    for (const Event& event : events) {
      if (event.kind == EventKind::Submitted) append(view, event.job, placer);
      if (event.kind == EventKind::Requeued) check_again(view, event.job, placer);
    }
    return ids_.size() - before;
  }

  /// Those that the last update dropped are among these, which ascend.
  std::span<const JobId> gone() const { return gone_; }

  /// Found impossible by the last update: to be rejected.
  void reject_impossible(Decisions& decisions) const {
    for (const JobId id : impossible_) decisions.list.push_back(Reject{id});
  }

  /// Nothing for one that has seen nothing yet; no job at all is job 0.
  Snapshot save() const {
    ByteWriter writer;
    if (!fresh_ && ids_.empty()) writer.integer(0);
    for (const JobId id : ids_) writer.integer(static_cast<std::int64_t>(id.value()));
    return writer.take();
  }
  Expected<void> restore(const Snapshot& bytes) {
    ByteReader reader(bytes);
    ids_.clear();
    while (!reader.at_end()) {
      ids_.push_back(JobId(static_cast<JobId::rep>(reader.integer())));
    }
    if (ids_.size() == 1 && ids_.front() == JobId(0)) ids_.clear();
    fresh_ = bytes.empty();
    unchecked_ = true;
    if (reader.failed()) return fail(ErrorCode::BadData, "policy memory: cut short");
    std::vector<JobId> sorted = ids_;
    std::ranges::sort(sorted);
    if (!sorted.empty() && (sorted.front() == JobId(0) || sorted.back() > kLastJob)) {
      return fail(ErrorCode::BadData, "policy memory: no number of a job");
    }
    const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
    return distinct ? Expected<void>() : fail(ErrorCode::BadData, "policy memory: a job twice");
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
    std::erase_if(ids_, [&](JobId id) { return std::ranges::binary_search(gone_, id); });
  }
  void append(const ClusterView& view, JobId id, const Placer& placer) {
    const Job* const job = view.find(id);
    if (job == nullptr || !is_live(*job)) return;
    if (std::ranges::find(ids_, id) != ids_.end()) return;
    if (std::ranges::find(impossible_, id) != impossible_.end()) return;
    const bool possible =
        holds_berth(job->state) || feasibility_.allows(view.job(id), view, placer);
    (possible ? ids_ : impossible_).push_back(id);
  }
  /// One that ran may have got its berth from another placement, or ask for more memory now.
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
  Feasibility feasibility_;
  bool fresh_ = true;
  bool unchecked_ = false;  ///< As restored: it may name jobs that the view does not know.
};

}  // namespace berth
