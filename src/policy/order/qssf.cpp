// Quasi-shortest service first: expected run time, learned from what ran before, times GPUs.
//
// Rule: smallest GPUs x expected run time first, without preemption; nobody passes the first that
//   does not fit. What ran before its submission tells: the mean run time of the job's program on
//   as many GPUs, else of its program, else of its user on as many GPUs, else of its user, else of
//   anybody on as many GPUs, else of all. A mean is over all runs up to 32 and moves by a 32nd of
//   the difference from then on. A job with an estimate is expected to run for 9/10 of it and 1/10
//   of that mean. One of which nothing is known goes first; among equals, first submitted.
// Reads: fingerprint, user, gpus, estimate, submitted; run times of jobs that end.
// Differs from the paper: Helios (Hu et al., SC 2021), whose artefact blends 9/10 of a gradient
//   boosting model's prediction with the mean of all past runs of the same or two similar names.
//   Here the job's estimate stands for the model's, names that differ by more than numbers are not
//   similar, and runs that end while no policy is asked (a daemon's replay) count as ended at the
//   next pass. Clusters are scheduled whole, not per virtual cluster:
//   doc/results/helios.md. Cost: O(running) per pass, O(1) per job.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "core/bytes.hpp"
#include "policy/kit/run_history.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

constexpr std::int64_t kEstimateTenths = 9;

/// A job with a berth, as it was when last seen.
struct Watched {
  Instant seen;
  Duration ran{0};
  RunTraits job;
};

RunTraits traits_of(const JobView& job, const ClusterView& view) {
  return {.user = static_cast<std::int64_t>(job.user().value()),
          .program = static_cast<std::int64_t>(view.company().of(job.id()).value()),
          .gpus = job.gpus().raw()};
}

Watched look_at(const JobView& job, const ClusterView& view) {
  return {.seen = view.now(),
          .ran = std::min(job.ran(), RunHistory::kLongestRun),
          .job = traits_of(job, view)};
}

/// What a waiting job was expected to need when it was submitted, and what that was told from.
struct Need {
  std::int64_t service = 0;
  Duration estimate{0};
  std::int64_t program = 0;
  std::int64_t gpus = 0;
};

class Qssf final : public Order {
 public:
  /// Looks at who runs, since events of what was decided do not survive a restore.
  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    std::vector<Watched> ended;
    for (const auto& [id, last] : watched_) {
      if (view.knows(id)) continue;
      ended.push_back(last);
      const Duration since = std::max(Duration::zero(), view.now() - last.seen);
      ended.back().ran =
          std::min(last.ran + std::min(since, RunHistory::kLongestRun), RunHistory::kLongestRun);
    }
    std::ranges::sort(ended, {}, [](const Watched& job) {  // by what they are, not by their ids
      return std::tuple(job.job, job.ran);
    });
    for (const Watched& job : ended) history_.learn(job.job, job.ran);
    watched_.clear();
    for (const JobId id : view.running()) {
      watched_.emplace(id, look_at(view.job(id), view));
      expected_.erase(id);
    }
    if (fresh_) look_afresh(view);
    for (const Event& event : events) expect(event.job, view);
    return {};
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto known = expected_.find(job.id());
    const std::int64_t service =
        known != expected_.end() ? known->second.service : service_of(job, view);
    return {.rank = {.major = service, .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }

  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  /// Nobody said what became of jobs while no policy was asked: between a snapshot and its end.
  void look_afresh(const ClusterView& view) {
    fresh_ = false;
    std::erase_if(expected_, [&](const auto& entry) { return !view.knows(entry.first); });
    view.for_each_pending([&](const JobView& job) { expect(job.id(), view); });
  }

  /// Fixes what a job that waits is expected to need, until it starts or asks for something else.
  void expect(JobId id, const ClusterView& view) {
    const Job* const job = view.find(id);
    if (job == nullptr || !is_waiting(job->state)) {
      expected_.erase(id);
      return;
    }
    const RunTraits now = traits_of(view.job(id), view);
    const auto known = expected_.find(id);
    const bool same = known != expected_.end() && known->second.estimate == job->spec.estimate &&
                      known->second.program == now.program && known->second.gpus == now.gpus;
    if (same) return;
    expected_[id] = {.service = service_of(view.job(id), view),
                     .estimate = job->spec.estimate,
                     .program = now.program,
                     .gpus = now.gpus};
  }

  std::int64_t service_of(const JobView& job, const ClusterView& view) const {
    return (job.gpus() * run_time_of(job, view)).raw();
  }

  Duration run_time_of(const JobView& job, const ClusterView& view) const {
    const Duration estimate = job.spec().estimate;
    const Duration mean = history_.expected(traits_of(job, view));
    if (mean == kForever && estimate == kForever) return Duration::zero();
    if (mean == kForever || estimate == kForever) return std::min(mean, estimate);
    return estimate / 10 * kEstimateTenths + mean / 10 * (10 - kEstimateTenths);
  }

  RunHistory history_;
  std::map<JobId, Watched> watched_;
  std::map<JobId, Need> expected_;  ///< Of waiting jobs.
  bool fresh_ = true;               ///< Nothing seen yet since it was made or restored.
};

void put(ByteWriter& out, const std::array<std::int64_t, 3>& fields) {
  for (const std::int64_t field : fields) out.integer(field);
}

Snapshot Qssf::save() const {
  ByteWriter out;
  history_.save(out);
  out.integer(std::ssize(watched_));
  for (const auto& [id, job] : watched_) {
    out.integer(static_cast<std::int64_t>(id.value()));
    put(out, {job.job.user, job.job.program, job.job.gpus});
    out.integer(micros(job.seen));
    out.integer(micros(job.ran));
  }
  out.integer(std::ssize(expected_));
  for (const auto& [id, job] : expected_) {
    out.integer(static_cast<std::int64_t>(id.value()));
    put(out, {job.service, job.program, job.gpus});
    out.integer(micros(job.estimate));
  }
  return out.take();
}

Expected<void> Qssf::restore(const Snapshot& bytes) {
  if (bytes.empty()) return {};
  watched_.clear();
  expected_.clear();
  ByteReader in(bytes);
  fresh_ = true;
  bool sane = history_.restore(in);
  for (std::int64_t left = in.integer(); left > 0 && sane && !in.failed(); --left) {
    const JobId id(static_cast<JobId::rep>(in.integer()));
    const RunTraits traits{.user = in.integer(), .program = in.integer(), .gpus = in.integer()};
    const Watched job{
        .seen = instant_from_micros(in.integer()), .ran = Duration(in.integer()), .job = traits};
    sane = job.ran >= Duration::zero() && job.ran <= RunHistory::kLongestRun && job.seen >= kStart;
    watched_.emplace(id, job);
  }
  for (std::int64_t left = in.integer(); left > 0 && sane && !in.failed(); --left) {
    const JobId id(static_cast<JobId::rep>(in.integer()));
    Need job{.service = in.integer(), .program = in.integer(), .gpus = in.integer()};
    job.estimate = Duration(in.integer());
    sane = job.service >= 0;
    expected_.emplace(id, job);
  }
  if (sane && !in.failed() && in.left() == 0) return {};
  return fail(ErrorCode::BadData, "policy memory: not a qssf state");
}

}  // namespace

std::unique_ptr<Order> qssf(const Knobs&) { return std::make_unique<Qssf>(); }

}  // namespace berth
