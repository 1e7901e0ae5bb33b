// The loop of Muri's simulator (Rivendile/Muri, commit 4e69a78ce7) around the rule of the policies:
// its clock, its overheads and its nodes. oracles/muri/README.md has it in words.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/knowledge/stages.hpp"
#include "paper/rows.hpp"
#include "policy/whole/muri_rule.hpp"
#include "solve/solve.hpp"

namespace berth::test {

inline constexpr std::int64_t kMuriNode = 8;  ///< GPUs, and nodes.
inline constexpr double kMuriNever = std::numeric_limits<double>::infinity();

/// Seconds that a running job loses between two events, by GPUs: 1, 2, 4 and so on.
inline double muri_overhead(const std::string& model, std::int64_t gpus) {
  static const std::map<std::string, std::array<double, 6>> kOverheads = {
      {"vgg16", {7, 7, 8, 9, 9, 10}},     {"vgg19", {7, 7, 8, 9, 10, 10}},
      {"resnet18", {4, 5, 5, 7, 7, 7}},   {"shufflenet_v2_x1_0", {4, 4, 5, 5, 7, 8}},
      {"bert", {10, 10, 10, 10, 10, 10}}, {"gpt2", {10, 10, 10, 10, 10, 10}},
      {"a2c", {38, 39, 39, 46, 46, 46}},  {"dqn", {5, 5, 6, 6, 8, 8}}};
  std::size_t column = 0;
  while ((std::int64_t{1} << column) < gpus) ++column;
  return kOverheads.at(model).at(column);
}

struct MuriOracleJob {
  std::string id;
  std::string model = {};
  std::int64_t gpus = 1;
  double submitted = 0;
  Iteration times = {};
  double alone = 0;   ///< Seconds of an iteration.
  double stated = 0;  ///< Seconds that it is said to take.
  double overhead = 0;
  double left = 0;  ///< Iterations.

  double ran = 0;        ///< Seconds.
  double iteration = 0;  ///< In seconds, as it runs now; 0: it waits.
  double lost = 0;       ///< Seconds at each event.
  double start = -1;
  double end = kMuriNever;
};

inline std::vector<MuriOracleJob> muri_jobs(const std::filesystem::path& file) {
  std::vector<MuriOracleJob> jobs;
  for (Rows rows(file); rows.next();) {
    MuriOracleJob job{
        .id = rows.text("job_id"), .model = rows.text("model_name"), .gpus = rows.whole("num_gpu")};
    job.submitted = rows.number("submit_time") / 1000;
    job.left = rows.number("iterations");
    job.stated = rows.number("duration") / 1000;
    job.alone = rows.number("iteration_time") * 1.015 / 1000;
    const auto time = [&](const char* column) {
      return Duration(std::llround(rows.number(column) * 1'000));
    };
    job.times = {
        .alone = time("iteration_time") * 1'015 / 1'000,
        .stages = {time("resource_time_0"), time("resource_time_1"), time("resource_time_2")}};
    job.overhead = muri_overhead(job.model, job.gpus);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// Nodes, the first with enough room; a job of more GPUs has whole nodes first.
class MuriNodes {
 public:
  bool operator()(std::int64_t gpus) {
    auto free = free_;
    std::int64_t whole = gpus > kMuriNode ? gpus / kMuriNode : 0;
    std::int64_t rest = gpus - whole * kMuriNode;
    for (std::int64_t& node : free) {
      if (whole > 0 && node == kMuriNode) {
        node = 0;
        --whole;
      }
    }
    if (rest > 0) {
      const auto found =
          std::ranges::find_if(free, [&](std::int64_t node) { return node >= rest; });
      if (found != free.end()) {
        *found -= rest;
        rest = 0;
      }
    }
    if (whole > 0 || rest > 0) return false;
    free_ = free;
    return true;
  }

 private:
  std::array<std::int64_t, kMuriNode> free_ = {8, 8, 8, 8, 8, 8, 8, 8};
};

/// Three stages of a job, in seconds.
using MuriStages = std::array<double, 3>;

/// iteration_together() as they compute it, for their clock: whether two ends are at one instant
/// depends on the last bit. Of two jobs at least, without the factor.
inline double muri_round(std::span<const MuriStages> group, std::span<const std::size_t> order) {
  constexpr std::size_t kSteps = 8;
  std::array<double, kSteps + 1> at = {};
  for (std::size_t k = 0; k < kSteps; ++k) {
    const auto stage = [&](std::size_t after, std::size_t which) -> std::optional<double> {
      const std::size_t index = (k + after) % kMuriMost;
      if (index >= order.size()) return std::nullopt;
      return group[order[index]][which];
    };
    double next = 0;
    if (const auto its = stage(1, 2)) next = std::max(next, at[k] + *its);
    if (const auto its = stage(2, 1)) next = std::max(next, at[k] + *its);
    if (const auto its = stage(3, 0); its && k > 0) next = std::max(next, at[k - 1] + *its);
    at[k + 1] = next;
    if (k < kMuriMost) continue;
    const double round = at[k + 1] - at[k - 3];
    const double before = at[k] - at[k - 4];
    if (std::abs(round - before) <= 0.001 * before) return round;
  }
  return at[kSteps] - at[kSteps - kMuriMost];
}
inline double muri_best_round(std::span<const MuriStages> group) {
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), 0);
  double best = kMuriNever;
  do {
    best = std::min(best, muri_round(group, order));
  } while (std::ranges::next_permutation(order).found);
  if (group.size() == 2) {
    const auto& [a, b] = std::pair(group[0], group[1]);
    best = std::min(best, std::max(a[0], b[1] + b[2]) + std::max(b[0], a[1] + a[2]));
  }
  return best;
}

enum class Muri : std::uint8_t { Shortest, LeastService, Unmatched };

class MuriRun {
 public:
  MuriRun(Muri kind, std::vector<MuriOracleJob> jobs) : kind_(kind), jobs_(std::move(jobs)) {}

  const std::vector<MuriOracleJob>& finish() {
    while (next_ < jobs_.size() || !list_.empty()) {
      const double arrival = next_ < jobs_.size() ? jobs_[next_].submitted : kMuriNever;
      const double end = earliest_end();
      constexpr double kAtOnce = 1e-4;
      const double now = arrival < end + kAtOnce ? arrival : end;
      account(now);
      if (end < arrival + kAtOnce) finish_at(end, now);
      while (next_ < jobs_.size() && jobs_[next_].submitted == now) list_.push_back(next_++);
      decide();
    }
    return jobs_;
  }

 private:
  double end_of(const MuriOracleJob& job) const {
    return job.iteration > 0 ? now_ + job.left * job.iteration : kMuriNever;
  }
  double earliest_end() const {
    double earliest = kMuriNever;
    for (const std::size_t job : list_) earliest = std::min(earliest, end_of(jobs_[job]));
    return earliest;
  }
  void account(double now) {
    ends_.assign(jobs_.size(), kMuriNever);
    for (const std::size_t index : list_) {
      MuriOracleJob& job = jobs_[index];
      ends_[index] = end_of(job);
      if (job.iteration == 0) continue;
      job.ran += now - now_;
      job.left -= std::max(now - now_ - job.lost, 0.) / job.iteration;
    }
    now_ = now;
  }
  void finish_at(double end, double now) {
    std::erase_if(list_, [&](std::size_t job) {
      if (ends_[job] != end) return false;
      jobs_[job].end = now;
      return true;
    });
  }
  std::int64_t key_of(const MuriOracleJob& job) const {
    const double left = job.start < 0 ? job.stated : job.left * job.alone;
    return std::llround((kind_ == Muri::Shortest ? left : job.ran) * 1e6) * job.gpus;
  }
  const StageFactors& factors() const {
    return kind_ == Muri::Unmatched ? kUnmatchedStages : kMatchedStages;
  }
  double together(const MuriGroup& group) const {
    if (group.size() == 1) return jobs_[list_[group[0]]].alone;
    std::vector<MuriStages> stages;
    for (const std::size_t place : group) {
      const auto& times = jobs_[list_[place]].times.stages;
      MuriStages& its = stages.emplace_back();
      std::ranges::transform(times, its.begin(), [](Duration time) {
        return static_cast<double>(micros(time)) / 1'000 / 1'000;  // from their milliseconds
      });
    }
    const double factor = static_cast<double>(factors()[group.size()]) / 1'000;
    return muri_best_round(stages) * (factor / 1.015);
  }
  void decide() {
    std::vector<MuriJob> asked;
    std::vector<Iteration> times;
    for (const std::size_t index : list_) {
      MuriOracleJob& job = jobs_[index];
      asked.push_back({.gpus = job.gpus, .key = key_of(job)});
      times.push_back(job.times);
      job.iteration = 0;
    }
    const auto empty = [&] {
      return [&, nodes = MuriNodes()](std::size_t job) mutable { return nodes(asked[job].gpus); };
    };
    const MuriGain gain = [&](const MuriGroup& group) {
      return muri_gain(times, group, factors());
    };
    const MuriPays pays = [&](const MuriGroup& group) {
      return muri_pays(times, group, factors());
    };
    MuriGroups groups = muri_candidates(asked, kMuriNode * kMuriNode, empty());
    if (kind_ == Muri::Unmatched) {
      muri_fill(asked, groups);
    } else {
      while (const auto question = muri_question(asked, groups, gain)) {
        muri_join(asked, groups, *question, solve::answer({*question}).values);
      }
    }
    MuriNodes nodes;
    for (const MuriGroup& group : muri_chosen(asked, std::move(groups.list), pays, empty())) {
      if (nodes(asked[group[0]].gpus)) run(group);
    }
    std::vector<std::size_t> list;
    for (const std::size_t place : muri_order(asked)) list.push_back(list_[place]);
    list_ = std::move(list);
  }
  void run(const MuriGroup& group) {
    const double iteration = together(group);
    double lost = 0;
    for (const std::size_t place : group) lost += jobs_[list_[place]].overhead;
    for (const std::size_t place : group) {
      MuriOracleJob& job = jobs_[list_[place]];
      job.iteration = iteration;
      job.lost = lost;
      if (job.start < 0) job.start = now_;
    }
  }

  Muri kind_;
  std::vector<MuriOracleJob> jobs_;
  std::vector<std::size_t> list_;
  std::vector<double> ends_;
  std::size_t next_ = 0;
  double now_ = 0;
};

}  // namespace berth::test
