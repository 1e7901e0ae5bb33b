#include "report/user_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/demand.hpp"
#include "report/equal_split.hpp"
#include "report/job_figures.hpp"

namespace berth::sim {

namespace {

constexpr double kUnit = 1e6;  ///< Of a GPU, for EqualSplit.

/// The users of a trace, numbered from 0.
class Users {
 public:
  explicit Users(const trace::Trace& trace) {
    of_.reserve(trace.jobs.size());
    for (const trace::TraceJob& job : trace.jobs) {
      const auto [known, is_new] = numbers_.try_emplace(job.spec.user, numbers_.size());
      of_.push_back(known->second);
    }
  }
  std::size_t count() const { return numbers_.size(); }
  /// By place in the trace.
  std::size_t of(std::size_t job) const { return of_[job]; }
  /// `call(number)` for each that has a name.
  template <class Call>
  void for_each_named(Call call) const {
    for (const auto& [user, number] : numbers_) {
      if (user != UserId(0)) call(number);
    }
  }

 private:
  std::map<UserId, std::size_t> numbers_;
  std::vector<std::size_t> of_;
};

/// Each named user's service over its equal split.
std::vector<double> service_over_split(const trace::Trace& trace, const Cluster& cluster,
                                       const Result& result, const Users& users) {
  struct Leaving {
    Instant at;
    std::size_t user;
    std::int64_t demand;
  };
  const auto in_units = [](double gpus) { return std::llround(gpus * kUnit); };
  const Demands demands(cluster);
  std::vector<Leaving> leaving;
  leaving.reserve(result.jobs.size());
  std::vector<double> service(users.count());
  std::vector<std::int64_t> demand(result.jobs.size());
  for (const JobResult& job : result.jobs) {
    if (!job.refused.empty() || job.over == kNever) continue;
    const double gpus = demands.of(trace.jobs[job.job].spec).largest();
    demand[job.job] = in_units(gpus);
    service[users.of(job.job)] += gpus * in_seconds(job.spent.ran);
    leaving.push_back({job.over, users.of(job.job), demand[job.job]});
  }
  std::ranges::sort(leaving, {}, &Leaving::at);
  EqualSplit split(in_units(static_cast<double>(cluster.gpu_count().raw())), users.count(),
                   trace.jobs.front().submit);
  std::size_t came = 0;
  const auto come_until = [&](Instant at) {
    for (; came < trace.jobs.size() && trace.jobs[came].submit <= at; ++came) {
      split.change(users.of(came), demand[came], trace.jobs[came].submit);
    }
  };
  for (const Leaving& one : leaving) {
    come_until(one.at);
    split.change(one.user, -one.demand, one.at);
  }
  std::vector<double> ratios;
  users.for_each_named([&](std::size_t user) {
    const double fair = leaving.empty() ? 0 : split.share(user, leaving.back().at) / kUnit;
    if (fair > 0) ratios.push_back(service[user] / fair);
  });
  return ratios;
}

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

std::optional<UserFigures> user_figures(const trace::Trace& trace, const Cluster& cluster,
                                        const Result& result) {
  struct Sums {
    double jobs = 0;
    double jct = 0;
    double slowdown = 0;
  };
  const Users users(trace);
  std::vector<Sums> sums(users.count());
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    if (job.end == kNever || (result.measured && !result.measured->has(asked.submit))) continue;
    Sums& its = sums[users.of(job.job)];
    ++its.jobs;
    its.jct += jct_of(asked, job);
    its.slowdown += slowdown_of(asked, job);
  }
  std::vector<double> jcts;
  std::vector<double> slowdowns;
  users.for_each_named([&](std::size_t user) {
    const Sums& its = sums[user];
    if (its.jobs == 0) return;
    jcts.push_back(its.jct / its.jobs);
    slowdowns.push_back(its.slowdown / its.jobs);
  });
  if (jcts.size() < 2) return std::nullopt;
  UserFigures figures{.users = jcts.size(),
                      .jct = variation_of(jcts),
                      .slowdown = variation_of(slowdowns),
                      .fairness = jain(slowdowns)};
  const std::vector<double> ratios = service_over_split(trace, cluster, result, users);
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
