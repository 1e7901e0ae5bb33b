// The speed of models on other numbers of GPUs than they ask for, from published tables.
//
// A job does the same steps on any number of GPUs, each with the job's batch, split over the GPUs.
// Tables have the time of a step by number of GPUs and by the part of the batch on each GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/limits.hpp"
#include "core/base/rate.hpp"
#include "core/base/wide.hpp"

namespace berth {

/// A value type, in whole numbers. Figures given several times for one key are averaged.
class Scaling {
 public:
  static constexpr std::int64_t kMostBatch = limits::kMostBatch;
  /// Of the batch on each GPU, which may be a fraction of a sample in a table.
  static constexpr std::int64_t kThousandths = 1000;
  static constexpr std::int64_t kLongestStep = 1'000'000'000'000'000;  ///< Nanoseconds.

  /// `part`: thousandths of the batch on each GPU; 0: whatever it is. Requires: a step
  /// above 0 and of eleven days at most.
  void add(const std::string& model, std::int64_t gpus, std::int64_t part,
           std::int64_t step_nanoseconds);

  /// Speed with `given` GPUs against that with `asked`, of a job with this batch in all (0: not
  /// known). Between numbers of GPUs that were measured it is on a straight line, between batches
  /// so is the time of a step; with a larger part than any measured a step takes as much longer as
  /// that is larger. Nothing beyond the GPUs measured, with less than a sample on each, or of a
  /// model or batch that is not known.
  std::optional<Rate> speed(const std::string& model, std::int64_t batch, std::int64_t asked,
                            std::int64_t given) const;

  /// Each figure changed by `change`, which is given full speed and says how much faster it is.
  template <class Change>
  Scaling changed(Change change) const {
    Scaling other = *this;
    for (auto& [model, table] : other.models_) {
      for (auto& [gpus, steps] : table) {
        for (auto& [part, mean] : steps) {
          const Wide step = Wide{mean.value()} * Rate::kWhole / change(kFullSpeed).ppm();
          mean = {.sum = static_cast<std::int64_t>(std::clamp(step, Wide{1}, Wide{kLongestStep})),
                  .count = 1};
        }
      }
    }
    return other;
  }

  bool is_empty() const { return models_.empty(); }
  std::vector<std::string> models() const;
  /// Numbers of GPUs that were measured, ascending.
  std::vector<std::int64_t> gpus(const std::string& model) const;
  bool is_sane() const;
  bool operator==(const Scaling&) const = default;

 private:
  struct Mean {
    std::int64_t sum = 0;
    std::int64_t count = 0;
    std::int64_t value() const { return sum / count; }
    bool operator==(const Mean&) const = default;
    friend auto members(Mean& v) { return std::tie(v.sum, v.count); }
  };
  using Steps = std::map<std::int64_t, Mean>;  ///< By part of the batch.
  using ByGpus = std::map<std::int64_t, Steps>;

  static std::optional<std::int64_t> step(const Steps& steps, std::int64_t gpus,
                                          std::int64_t batch);
  static std::optional<std::int64_t> throughput(const ByGpus& table, std::int64_t gpus,
                                                std::int64_t batch);

  std::map<std::string, ByGpus> models_;

  friend auto members(Scaling& v) { return std::tie(v.models_); }
};

}  // namespace berth
