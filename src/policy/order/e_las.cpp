// E-LAS: epoch-aware least attained service (Sultana et al., ICPP 2020).
//
// Rule: an index of attained service (GPUs x run time) and of epochs done puts a job in a queue, as
//   service alone does in 2D-LAS; lower queues go first, first submitted inside one, with
//   preemption. `e-las`: service x epochs to go / epochs done, what the job will still take at the
//   rate it has shown. `e-las/rate`: service / sqrt(epochs done), in the order of service over
//   epochs per service. Before its first epoch a job goes first for a quantum, then counts half of
//   one. A job that reports no progress counts twentieths of its estimate; one that has none
//   either goes by service alone. Queues end at 3,250 GPU-seconds and at each doubling of it,
//   or where they are told to (key `thresholds`).
// Reads: attained, progress reported (done, total), estimate, submitted.
// Differs from the paper: the published index is not at hand. Both are built from its two signals,
//   and doc/results/e-las.md argues the choice, of the index and of twelve queues for two.
//   Cost: O(log queues) per job.
#include <algorithm>
#include <array>
#include <vector>

#include "core/wide.hpp"
#include "policy/registry.hpp"

namespace berth {

namespace {

/// In GPU-seconds, each twice the one before: 3,250 to 6,656,000.
constexpr auto kQueueEnds = [] {
  std::array<std::int64_t, 12> ends{};
  std::int64_t end = 3250;
  for (std::int64_t& each : ends) each = end, end *= 2;
  return ends;
}();
constexpr std::int64_t kEpoch = 1'000'000;    ///< Progress is reported in millionths.
constexpr std::int64_t kParts = 20 * kEpoch;  ///< Epochs of a job that reports none.
constexpr std::int64_t kCoarse = 1000;

enum class Index : std::uint8_t { ToGo, Rate };

/// What a job has shown, in millionths; no epochs in all: nothing is known.
struct Epochs {
  std::int64_t done = 0;
  std::int64_t total = 0;
};

Epochs epochs_of(const JobView& job, const Progress& reported) {
  if (reported.total > 0)
    return {std::clamp<std::int64_t>(reported.done, 0, reported.total), reported.total};
  const Duration all = job.estimate();
  if (all == kForever || all <= Duration::zero()) return {};
  const auto done = static_cast<std::int64_t>(Wide{job.ran().count()} * kParts / all.count());
  return {std::min(done / kEpoch * kEpoch, kParts), kParts};
}

class ELas final : public Order {
 public:
  ELas(Index index, const Knobs& knobs)
      : index_(index), quantum_(knobs.quantum), queue_ends_(ends_of(knobs)) {}

  Ranked rank(const JobView& job, const ClusterView& view) const override {
    const Epochs epochs = epochs_of(job, view.find(job.id())->progress);
    const auto ends_before = [&](std::int64_t end) { return reaches(job, epochs, end); };
    const auto queue = std::ranges::find_if_not(queue_ends_, ends_before);
    return {.rank = {.major = queue - queue_ends_.begin(), .minor = micros(job.submitted())},
            .valid_until = std::nullopt};
  }

 private:
  static std::vector<std::int64_t> ends_of(const Knobs& knobs) {
    if (!knobs.thresholds.empty()) return {knobs.thresholds.begin(), knobs.thresholds.end()};
    return {kQueueEnds.begin(), kQueueEnds.end()};
  }
  /// True if the job's index is `end` GPU-seconds or more. Half an epoch counts before the first,
  /// so epochs are counted in halves.
  bool reaches(const JobView& job, const Epochs& epochs, std::int64_t end) const {
    const Wide service = job.attained().raw();
    const Wide bound = Wide{end} * micros(seconds(1));
    if (epochs.total == 0) return service >= bound;
    if (epochs.done == 0 && job.ran() < quantum_) return false;
    const Wide done = std::max(Wide{kEpoch}, 2 * Wide{epochs.done});
    const Wide to_go = std::max(Wide{0}, 2 * Wide{epochs.total} - done);
    if (index_ == Index::ToGo) return service * to_go >= bound * done;
    return square(service) * (2 * kEpoch / kCoarse) >= square(bound) * (done / kCoarse);
  }
  /// In units in which it times epochs fits, whatever was reported.
  static Wide square(Wide service) { return service / kCoarse * (service / kCoarse); }

  Index index_;
  Duration quantum_;
  std::vector<std::int64_t> queue_ends_;
};

}  // namespace

std::unique_ptr<Order> e_las(const Knobs& knobs) {
  return std::make_unique<ELas>(knobs.name == "e-las/rate" ? Index::Rate : Index::ToGo, knobs);
}

}  // namespace berth
