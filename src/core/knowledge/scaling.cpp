#include "core/knowledge/scaling.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kPerStep = 1'000'000'000'000'000'000;  ///< Throughput is this over a step.
constexpr std::int64_t kMostFigures = 4096;  ///< For one key; their sum fits 63 bits.

}  // namespace

void Scaling::add(const std::string& model, std::int64_t gpus, std::int64_t part,
                  std::int64_t step_nanoseconds) {
  Mean& mean = models_[model][gpus][part];
  if (mean.count == kMostFigures) return;
  mean.sum += step_nanoseconds;
  ++mean.count;
}

std::optional<std::int64_t> Scaling::step(const Steps& steps, std::int64_t gpus,
                                          std::int64_t batch) {
  const auto first = steps.upper_bound(0);
  if (first == steps.end()) return steps.begin()->second.value();
  if (batch < gpus) return std::nullopt;
  const std::int64_t part = batch * kThousandths / gpus;
  const auto above = steps.lower_bound(part);
  if (above == steps.end()) {
    const auto& [largest, mean] = *std::prev(above);
    return static_cast<std::int64_t>(std::min(Wide{mean.value()} * part / largest, Wide{kPerStep}));
  }
  if (above->first == part || above == first) return above->second.value();
  const auto below = std::prev(above);
  const std::int64_t more = above->second.value() - below->second.value();
  return below->second.value() + static_cast<std::int64_t>(Wide{more} * (part - below->first) /
                                                           (above->first - below->first));
}

std::optional<std::int64_t> Scaling::throughput(const ByGpus& table, std::int64_t gpus,
                                                std::int64_t batch) {
  const auto at = [&](ByGpus::const_iterator row) -> std::optional<std::int64_t> {
    const auto time = step(row->second, row->first, batch);
    return time ? std::optional(kPerStep / std::max<std::int64_t>(1, *time)) : std::nullopt;
  };
  const auto above = table.lower_bound(gpus);
  if (above == table.end()) return std::nullopt;
  if (above->first == gpus) return at(above);
  if (above == table.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const auto high = at(above);
  const auto low = at(below);
  if (!high || !low) return std::nullopt;
  return *low + static_cast<std::int64_t>(Wide{*high - *low} * (gpus - below->first) /
                                          (above->first - below->first));
}

std::optional<Rate> Scaling::speed(const std::string& model, std::int64_t batch, std::int64_t asked,
                                   std::int64_t given) const {
  const auto table = models_.find(model);
  if (table == models_.end()) return std::nullopt;
  const auto before = throughput(table->second, asked, batch);
  const auto now = throughput(table->second, given, batch);
  if (!before || !now || *before == 0) return std::nullopt;
  const Wide ppm = Wide{*now} * Rate::kWhole / *before;
  return Rate(static_cast<std::int64_t>(std::min(ppm, Wide{Rate::kMost})));
}

bool Scaling::is_sane() const {
  const auto is_step = [](const auto& entry) {
    const auto& [part, mean] = entry;
    return part >= 0 && part <= kMostBatch * kThousandths && mean.count > 0 &&
           mean.count <= kMostFigures && mean.sum >= mean.count &&
           mean.sum / mean.count <= kPerStep;
  };
  const auto is_row = [&](const auto& entry) {
    return entry.first > 0 && !entry.second.empty() && std::ranges::all_of(entry.second, is_step);
  };
  return std::ranges::all_of(models_, [&](const auto& entry) {
    return !entry.second.empty() && std::ranges::all_of(entry.second, is_row);
  });
}

std::vector<std::string> Scaling::models() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : models_) names.push_back(name);
  return names;
}

std::vector<std::int64_t> Scaling::gpus(const std::string& model) const {
  std::vector<std::int64_t> numbers;
  const auto table = models_.find(model);
  if (table == models_.end()) return numbers;
  for (const auto& [number, steps] : table->second) numbers.push_back(number);
  return numbers;
}

}  // namespace berth
