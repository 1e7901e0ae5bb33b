// The Gittins index over a history of its own, and least attained service until that suffices.
#include <algorithm>
#include <array>
#include <vector>

#include "core/bytes.hpp"
#include "policy/kit/gittins.hpp"
#include "policy/policies.hpp"

namespace berth {

constexpr auto kGittinsLearnedKeys = std::to_array<Key>({
    kQuantumKey,
    {.name = "enough",
     .type = KeyType::Count,
     .usual = "128",
     .least = 1,
     .most = 4096,
     .what = "The policy is `las` until this many jobs have ended."},
    {.name = "remembered",
     .type = KeyType::Count,
     .usual = "512",
     .least = 1,
     .most = 4096,
     .what = "The index is computed from this many of the latest jobs."},
    {.name = "refresh",
     .type = KeyType::Count,
     .usual = "32",
     .least = 1,
     .most = 4096,
     .what = "The index is computed again after this many more jobs have ended."},
});

constexpr About kGittinsLearned{
    .title = "Gittins index over the jobs that ended; `las` until enough have; preemptive.",
    .rule =
        "As `las` until `enough` jobs have ended. Then rank = (-Gittins index of GPUs x run time "
        "so far, time of submission), with preemption, where the index is computed from the "
        "service of the last `remembered` jobs, again after every `refresh` jobs that end. A job "
        "keeps its GPUs, and its place in the queue, for `quantum`.",
    .reads = "Attained service, time of submission, the service of jobs that end.",
    .source =
        "Tiresias (Gu et al., NSDI 2019), which uses 2D-LAS without a known distribution of "
        "service and 2D-Gittins with one.",
    .differs =
        "The number of jobs that make a distribution is our choice. A job that ends while it waits "
        "is not counted.",
    .cost = "O(ended) per pass, O(queue log queue) with a new index.",
    .proof = "None yet.",
    .needs = {.preemption = true},
    .keys = kGittinsLearnedKeys};

namespace {

constexpr std::int64_t kMostService = std::int64_t{1} << 40;  ///< GPU-seconds.

std::int64_t gpu_seconds(GpuTime service) {
  return std::min(service.raw() / micros(seconds(1)), kMostService);
}

class GittinsLearned final : public Order {
 public:
  explicit GittinsLearned(const Keys& keys)
      : enough_(static_cast<std::size_t>(keys.number("enough"))),
        remembered_(static_cast<std::size_t>(keys.number("remembered"))),
        refresh_(static_cast<std::size_t>(keys.number("refresh"))) {}

  /// A new index moves every rank; nothing else does but the job itself.
  DependsOn depends_on() const override {
    return index_is_new_ ? DependsOn::Cluster : DependsOn::Job;
  }

  Decisions prepare(const ClusterView& view, std::span<const Event>) override {
    std::vector<std::int64_t> ended;
    for (const Ended& job : view.finished_after(seen_)) ended.push_back(gpu_seconds(job.attained));
    std::ranges::sort(ended);  // by service, not by job
    recent_.insert(recent_.end(), ended.begin(), ended.end());
    seen_ = view.finished();
    const std::size_t enough = sample_.empty() ? enough_ : refresh_;
    index_is_new_ = recent_.size() >= enough;
    if (index_is_new_) learn();
    return {};
  }

  Ranked rank(const JobView& job, const ClusterView&) const override {
    const std::int64_t major =
        index_.is_known() ? -index_.at(gpu_seconds(job.attained())) : job.attained().raw();
    return {.rank = {.major = major, .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }

  Snapshot save() const override;
  Expected<void> restore(const Snapshot& bytes) override;

 private:
  void learn() {
    sample_.insert(sample_.end(), recent_.begin(), recent_.end());
    recent_.clear();
    if (sample_.size() > remembered_) {
      sample_.erase(sample_.begin(), sample_.end() - static_cast<std::ptrdiff_t>(remembered_));
    }
    index_ = GittinsIndex(sample_, GittinsForm::Paper);
  }

  std::size_t enough_;
  std::size_t remembered_;
  std::size_t refresh_;
  GittinsIndex index_{{}, GittinsForm::Paper};
  bool index_is_new_ = false;         ///< Since the last pass.
  std::vector<std::int64_t> sample_;  ///< What the index is of, the oldest first. GPU-seconds.
  std::vector<std::int64_t> recent_;  ///< Learned since.
  std::uint64_t seen_ = 0;            ///< Jobs that had ended at the last pass.
};

Snapshot GittinsLearned::save() const {
  ByteWriter out;
  for (const auto* list : {&sample_, &recent_}) {
    out.integer(std::ssize(*list));
    for (const std::int64_t service : *list) out.integer(service);
  }
  out.integer(static_cast<std::int64_t>(seen_));
  return out.take();
}

Expected<void> GittinsLearned::restore(const Snapshot& bytes) {
  sample_.clear();
  recent_.clear();
  seen_ = 0;
  ByteReader in(bytes);
  bool sane = true;
  for (auto* list : {&sample_, &recent_}) {
    for (std::int64_t left = bytes.empty() ? 0 : in.integer(); left > 0 && sane; --left) {
      const std::int64_t service = in.integer();
      sane = !in.failed() && service >= 0 && service <= kMostService;
      list->push_back(service);
    }
  }
  if (!bytes.empty()) {
    const std::int64_t seen = in.integer();
    sane = sane && seen >= 0;
    seen_ = static_cast<std::uint64_t>(seen);
  }
  if (!sane || in.failed() || !in.at_end() || sample_.size() > remembered_) {
    return fail(ErrorCode::BadData, "policy memory: not the history of gittins-learned");
  }
  index_ = GittinsIndex(sample_, GittinsForm::Paper);
  return {};
}

}  // namespace

std::unique_ptr<Order> gittins_learned(const Keys& keys, const Knobs&) {
  return std::make_unique<GittinsLearned>(keys);
}

}  // namespace berth
