// The Gittins index over a history of its own, and least attained service until that suffices.
#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "policy/kit/gittins.hpp"
#include "policy/kit/memory.hpp"
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

constexpr std::size_t kMostRemembered = 4096;                 ///< Of any value of the key.
constexpr std::int64_t kMostService = std::int64_t{1} << 40;  ///< GPU-seconds.

std::int64_t gpu_seconds(GpuTime service) {
  return std::min(service.raw() / micros(seconds(1)), kMostService);
}

struct LearnedMemory {
  std::vector<std::int64_t> sample;  ///< What the index is of, the oldest first. GPU-seconds.
  std::vector<std::int64_t> recent;  ///< Learned since.
  std::uint64_t seen = 0;            ///< Jobs that had ended at the last pass.
};
inline auto members(LearnedMemory& v) { return std::tie(v.sample, v.recent, v.seen); }

bool is_learned(const LearnedMemory& memory) {
  const auto is_service = [](std::int64_t service) {
    return service >= 0 && service <= kMostService;
  };
  return memory.sample.size() <= kMostRemembered &&
         std::ranges::all_of(memory.sample, is_service) &&
         std::ranges::all_of(memory.recent, is_service);
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
    for (const Ended& job : view.finished_after(memory_.seen))
      ended.push_back(gpu_seconds(job.attained));
    std::ranges::sort(ended);  // by service, not by job
    memory_.recent.insert(memory_.recent.end(), ended.begin(), ended.end());
    memory_.seen = view.finished();
    const std::size_t enough = memory_.sample.empty() ? enough_ : refresh_;
    index_is_new_ = memory_.recent.size() >= enough;
    if (index_is_new_) learn();
    return {};
  }

  Ranked rank(const JobView& job, const ClusterView&) const override {
    const std::int64_t major =
        index_.is_known() ? -index_.at(gpu_seconds(job.attained())) : job.attained().raw();
    return {.rank = {.major = major, .minor = micros(job.in_line_since())},
            .valid_until = std::nullopt};
  }

  Snapshot save() const override { return saved(memory_); }
  Expected<void> restore(const Snapshot& bytes) override {
    auto done = restore_into(memory_, bytes, "gittins-learned", is_learned);
    index_ = GittinsIndex(memory_.sample, GittinsForm::Paper);
    return done;
  }

 private:
  void learn() {
    memory_.sample.insert(memory_.sample.end(), memory_.recent.begin(), memory_.recent.end());
    memory_.recent.clear();
    if (memory_.sample.size() > remembered_) {
      memory_.sample.erase(memory_.sample.begin(),
                           memory_.sample.end() - static_cast<std::ptrdiff_t>(remembered_));
    }
    index_ = GittinsIndex(memory_.sample, GittinsForm::Paper);
  }

  std::size_t enough_;
  std::size_t remembered_;
  std::size_t refresh_;
  GittinsIndex index_{{}, GittinsForm::Paper};
  bool index_is_new_ = false;  ///< Since the last pass.
  LearnedMemory memory_;
};

}  // namespace

std::unique_ptr<Order> gittins_learned(const Keys& keys, const Knobs&) {
  return std::make_unique<GittinsLearned>(keys);
}

}  // namespace berth
