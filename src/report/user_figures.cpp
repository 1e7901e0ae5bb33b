#include "report/user_figures.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/equal_split.hpp"
#include "report/job_figures.hpp"

namespace berth::sim {

namespace {

constexpr double kUnit = 1e6;  ///< Of a GPU, for EqualSplit.

std::int64_t in_units(double gpus) { return std::llround(gpus * kUnit); }

}  // namespace

Variation variation_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / count;
  return {.variance = variance, .coefficient = mean > 0 ? std::sqrt(variance) / mean : 0};
}

double jain(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1;
}

void UserSums::add(const trace::TraceJob& asked, const JobResult& job, bool counts) {
  const auto number = static_cast<std::uint32_t>(numbers_.size());
  const auto [known, is_new] = numbers_.try_emplace(asked.spec.user, number);
  if (is_new) users_.emplace_back();
  User& user = users_[known->second];
  if (job.refused.empty() && job.over != kNever) {
    const double gpus = demands_.of(asked.spec).largest();
    user.service += gpus * in_seconds(job.spent.ran);
    stays_.push_back({asked.submit, job.over, known->second, in_units(gpus)});
  }
  if (!counts || job.end == kNever) return;
  ++user.jobs;
  user.jct += jct_of(asked, job);
  user.slowdown += slowdown_of(asked, job);
}

/// Of each named user that had jobs with GPUs there.
std::vector<double> UserSums::service_over_split() const {
  if (stays_.empty()) return {};
  std::vector<const Stay*> leaving;
  for (const Stay& stay : stays_) leaving.push_back(&stay);
  std::ranges::sort(leaving, {}, [](const Stay* stay) { return stay->to; });
  EqualSplit split(in_units(static_cast<double>(cluster_.gpu_count().raw())), users_.size(),
                   stays_.front().from);
  auto coming = stays_.begin();
  for (const Stay* const stay : leaving) {
    for (; coming != stays_.end() && coming->from <= stay->to; ++coming) {
      split.change(coming->user, coming->demand, coming->from);
    }
    split.change(stay->user, -stay->demand, stay->to);
  }
  std::vector<double> ratios;
  for (const auto& [user, number] : numbers_) {
    const double fair = split.share(number, leaving.back()->to) / kUnit;
    if (user != UserId(0) && fair > 0) ratios.push_back(users_[number].service / fair);
  }
  return ratios;
}

std::optional<UserFigures> UserSums::figures() const {
  std::vector<double> jcts;
  std::vector<double> slowdowns;
  for (const auto& [user, number] : numbers_) {
    const User& sums = users_[number];
    if (user == UserId(0) || sums.jobs == 0) continue;
    jcts.push_back(sums.jct / sums.jobs);
    slowdowns.push_back(sums.slowdown / sums.jobs);
  }
  if (jcts.size() < 2) return std::nullopt;
  UserFigures figures{.users = jcts.size(),
                      .jct = variation_of(jcts),
                      .slowdown = variation_of(slowdowns),
                      .fairness = jain(slowdowns)};
  const std::vector<double> ratios = service_over_split();
  if (ratios.size() < 2) return figures;
  figures.service = jain(ratios);
  figures.least_service = std::ranges::min(ratios);
  return figures;
}

nlohmann::ordered_json to_json(const UserFigures& figures) {
  return {{"users", figures.users},
          {"jct",
           {{"variance_seconds2", figures.jct.variance}, {"variation", figures.jct.coefficient}}},
          {"slowdown",
           {{"variance", figures.slowdown.variance}, {"variation", figures.slowdown.coefficient}}},
          {"service",
           {{"fairness", json_of(figures.service)}, {"least", json_of(figures.least_service)}}}};
}

}  // namespace berth::sim
