// The Gittins index over a history of its own, and least attained service until that suffices.
#include <algorithm>
#include <array>
#include <vector>

#include "core/bytes.hpp"
#include "core/wide.hpp"
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
     .what = "Before this many jobs have ended it is `las`."},
    {.name = "remembered",
     .type = KeyType::Count,
     .usual = "512",
     .least = 1,
     .most = 4096,
     .what = "The index is taken over this many of the latest jobs."},
    {.name = "refresh",
     .type = KeyType::Count,
     .usual = "32",
     .least = 1,
     .most = 4096,
     .what = "The index is computed again when this many more jobs have ended."},
});

constexpr About kGittinsLearned{
    .title = "Gittins index over a history of its own; least attained service until that suffices.",
    .rule =
        "As `las` until `enough` jobs have ended. From then on rank = (-Gittins index of GPUs x "
        "run time so far, time of submission) over the service of the last `remembered` jobs, with "
        "preemption; the index is computed again with every `refresh` jobs that end. A job keeps "
        "its GPUs, and its place, for `quantum`.",
    .reads = "Attained service, time of submission, the service of jobs that end.",
    .source =
        "Tiresias (Gu et al., NSDI 2019), which has 2D-LAS where nothing is known and 2D-Gittins "
        "where the distribution of service is.",
    .differs =
        "How many jobs make a distribution is our choice. A job that ends while it waits teaches "
        "nothing.",
    .cost = "O(running) per pass, O(queue log queue) with a new index.",
    .proof = "None yet.",
    .needs = {.preemption = true},
    .keys = kGittinsLearnedKeys};

namespace {

constexpr std::int64_t kMostService = std::int64_t{1} << 40;  ///< GPU-seconds.

std::int64_t gpu_seconds(GpuTime service) {
  return std::min(service.raw() / micros(seconds(1)), kMostService);
}

/// A job with a berth, as it was when last seen.
struct Watched {
  JobId job;
  Instant seen;
  GpuTime attained{0};
  GpuCount gpus{0};
};

/// In GPU-seconds, with what it got since it was seen. What is restored may be anything.
std::int64_t service_by(Instant now, const Watched& job) {
  const Duration since = std::max(Duration::zero(), now - job.seen);
  const Wide service = Wide{job.attained.raw()} + Wide{job.gpus.raw()} * micros(since);
  return static_cast<std::int64_t>(std::min<Wide>(service / micros(seconds(1)), kMostService));
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

  /// Looks at who runs, since events of what was decided do not survive a restore.
  Decisions prepare(const ClusterView& view, std::span<const Event>) override {
    std::vector<std::int64_t> ended;
    for (const Watched& last : watched_) {
      if (!view.knows(last.job)) ended.push_back(service_by(view.now(), last));
    }
    std::ranges::sort(ended);  // by service, not by job
    recent_.insert(recent_.end(), ended.begin(), ended.end());
    watched_.clear();
    for (const JobId id : view.running()) {
      const JobView job = view.job(id);
      watched_.push_back({id, view.now(), job.attained(), job.gpus()});
    }
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
  std::vector<Watched> watched_;      ///< Ascending by job.
};

Snapshot GittinsLearned::save() const {
  ByteWriter out;
  for (const auto* list : {&sample_, &recent_}) {
    out.integer(std::ssize(*list));
    for (const std::int64_t service : *list) out.integer(service);
  }
  for (const Watched& job : watched_) {
    out.integer(static_cast<std::int64_t>(job.job.value()));
    out.integer(micros(job.seen));
    out.integer(job.attained.raw());
    out.integer(job.gpus.raw());
  }
  return out.take();
}

Expected<void> GittinsLearned::restore(const Snapshot& bytes) {
  sample_.clear();
  recent_.clear();
  watched_.clear();
  ByteReader in(bytes);
  bool sane = true;
  for (auto* list : {&sample_, &recent_}) {
    for (std::int64_t left = bytes.empty() ? 0 : in.integer(); left > 0 && sane; --left) {
      const std::int64_t service = in.integer();
      sane = !in.failed() && service >= 0 && service <= kMostService;
      list->push_back(service);
    }
  }
  while (sane && !in.at_end()) {
    Watched job{.job = JobId(static_cast<JobId::rep>(in.integer()))};
    job.seen = instant_from_micros(in.integer());
    job.attained = GpuTime(in.integer());
    job.gpus = GpuCount(in.integer());
    sane = job.seen >= kStart && job.attained >= GpuTime(0) && job.gpus >= GpuCount(0);
    watched_.push_back(job);
  }
  if (!sane || in.failed() || sample_.size() > remembered_) {
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
