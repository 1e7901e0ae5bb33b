// Quasi-shortest service first: expected run time, learned from what ran before, times GPUs.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "policy/kit/memory.hpp"
#include "policy/order/run_history.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kQssfKeys = std::to_array<Key>({{
    .name = "estimate_percent",
    .type = KeyType::Percent,
    .usual = "90",
    .least = 0,
    .most = 100,
    .what = "Weight of a job's estimate; the mean of past runs has the remaining weight.",
}});

constexpr About kQssf{
    .title = "Quasi-shortest service first: GPUs x run time learned from past runs.",
    .rule =
        "rank = (GPUs x expected run time, time of submission), without preemption. expected = p x "
        "estimate + (1 - p) x mean of past runs, p = `estimate_percent`; if only one of the two is "
        "known, expected is that one, and a job with neither goes first. The mean is of the first "
        "of these groups with a run before the submission: same program and GPUs, same program, "
        "same user and GPUs, same user, same GPUs, all. After 32 runs, mean = mean + (run - mean) "
        "/ 32. The first job that does not fit blocks all jobs behind it.",
    .reads =
        "Fingerprint, user, GPUs asked for, estimate, time of submission, run times of jobs that "
        "end.",
    .source =
        "Helios (Hu et al., SC 2021), whose artefact adds 9/10 of a gradient boosting model's "
        "prediction and 1/10 of the mean of all past runs of the same or two similar names.",
    .differs =
        "The job's estimate replaces the model's prediction. Names are similar only if they differ "
        "in numbers alone. The cluster is scheduled as one, not per virtual cluster.",
    .cost = "O(running + ended) per pass, O(1) per job.",
    .proof =
        "None yet. At a load fitted to the published FIFO, with estimates as wrong as theirs, mean "
        "completion time over that of FIFO is 0.43 (0.43 published), and mean wait 0.32 (0.14 "
        "published), 2.3 times off (doc/results/helios.md).",
    .needs = {.estimates = true},
    .keys = kQssfKeys};

namespace {

RunTraits traits_of(const JobView& job, const ClusterView& view) {
  return {.user = static_cast<std::int64_t>(job.user().value()),
          .program = static_cast<std::int64_t>(view.company().of(job.id()).value()),
          .gpus = job.gpus().raw()};
}

RunTraits traits_of(const Ended& job) {
  return {.user = static_cast<std::int64_t>(job.user.value()),
          .program = static_cast<std::int64_t>(job.what.value()),
          .gpus = job.gpus.raw()};
}

/// What a waiting job was expected to need when it was submitted, and what that was told from.
struct Need {
  std::int64_t service = 0;
  Duration estimate{0};
  std::int64_t program = 0;
  std::int64_t gpus = 0;
};

inline auto members(Need& v) { return std::tie(v.service, v.program, v.gpus, v.estimate); }

struct QssfMemory {
  RunHistory::Memory runs;
  std::uint64_t seen = 0;
  std::map<JobId, Need> expected;
};
inline auto members(QssfMemory& v) { return std::tie(v.runs, v.seen, v.expected); }

bool is_foreseen(const QssfMemory& memory) {
  const auto is_need = [](const auto& entry) { return entry.second.service >= 0; };
  return RunHistory::is_sane(memory.runs) && std::ranges::all_of(memory.expected, is_need);
}

class Qssf final : public Order {
 public:
  explicit Qssf(const Keys& keys) : estimate_percent_(keys.number("estimate_percent")) {}

  Decisions prepare(const ClusterView& view, std::span<const Event> events) override {
    std::vector<std::pair<RunTraits, Duration>> ended;
    for (const Ended& job : view.finished_after(seen_)) ended.emplace_back(traits_of(job), job.ran);
    std::ranges::sort(ended);  // by what they are, not by their ids
    for (const auto& [job, ran] : ended) history_.learn(job, ran);
    seen_ = view.finished();
    for (const JobId id : view.running()) expected_.erase(id);
    if (fresh_) look_afresh(view);
    for (const Event& event : events) expect(event.job, view);
    return {};
  }

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const auto known = expected_.find(job.id());
    const std::int64_t service =
        known != expected_.end() ? known->second.service : service_of(job, view);
    return {.rank = {.major = service, .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }

  Snapshot save() const override {
    return saved(QssfMemory{.runs = history_.memory(), .seen = seen_, .expected = expected_});
  }
  Expected<void> restore(const Snapshot& bytes) override {
    QssfMemory memory;
    if (auto done = restore_into(memory, bytes, "qssf", is_foreseen); !done) return done;
    history_.remember(std::move(memory.runs));
    seen_ = memory.seen;
    expected_ = std::move(memory.expected);
    fresh_ = true;
    return {};
  }

 private:
  /// No event told what became of jobs while no policy was asked: between a snapshot and its end.
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
    return estimate / 10 * estimate_percent_ / 10 + mean / 10 * (100 - estimate_percent_) / 10;
  }

  std::int64_t estimate_percent_;
  RunHistory history_;
  std::uint64_t seen_ = 0;          ///< Jobs that had ended at the last pass.
  std::map<JobId, Need> expected_;  ///< Of waiting jobs.
  bool fresh_ = true;               ///< Nothing seen yet since it was made or restored.
};

}  // namespace

std::unique_ptr<Order> qssf(const Keys& keys, const Knobs&) { return std::make_unique<Qssf>(keys); }

}  // namespace berth
