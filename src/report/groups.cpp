#include "report/groups.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "report/job_figures.hpp"

namespace berth::sim {

namespace {

struct Sums {
  GroupFigures figures;
  std::vector<double> jcts;
  std::vector<double> waits;
  std::vector<double> slowdowns;
};

void note(Sums& sums, const trace::TraceJob& asked, const JobResult& job) {
  ++sums.figures.submitted;
  if (!job.refused.empty()) ++sums.figures.rejected;
  sums.figures.gpu_hours +=
      static_cast<double>(asked.spec.request.gpu.count.raw()) * in_seconds(job.spent.ran) / 3600;
  if (job.end == kNever) return;
  ++sums.figures.jobs;
  sums.jcts.push_back(jct_of(asked, job));
  sums.waits.push_back(wait_of(asked, job));
  sums.slowdowns.push_back(slowdown_of(asked, job));
}

template <class KeyOf>
auto sums_by(const trace::Trace& trace, const Result& result, KeyOf key_of) {
  std::map<decltype(key_of(trace.jobs.front())), Sums> groups;
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    if (result.measured && !result.measured->has(asked.submit)) continue;
    note(groups[key_of(asked)], asked, job);
  }
  return groups;
}

GroupFigures figures_of(Sums sums, std::string name) {
  GroupFigures figures = std::move(sums.figures);
  figures.name = std::move(name);
  figures.jct = spread_of(std::move(sums.jcts));
  figures.wait = spread_of(std::move(sums.waits));
  figures.slowdown = spread_of(std::move(sums.slowdowns));
  return figures;
}

/// The exponent of the least power of two that is as many; -1 for none.
int size_class(const trace::TraceJob& job) {
  const auto gpus = static_cast<std::uint64_t>(job.spec.request.gpu.count.raw());
  return gpus == 0 ? -1 : static_cast<int>(std::bit_width(gpus - 1));
}

std::string name_of_size(int exponent) {
  if (exponent < 0) return "0";
  if (exponent < 2) return std::to_string(exponent + 1);
  return std::to_string((std::int64_t{1} << (exponent - 1)) + 1) + "-" +
         std::to_string(std::int64_t{1} << exponent);
}

}  // namespace

std::vector<GroupFigures> by_user(const trace::Trace& trace, const Result& result) {
  std::map<UserId, std::string> names;
  for (const trace::TraceJob& job : trace.jobs) {
    const UserId user = job.spec.user;
    if (user == UserId(0)) continue;
    names.try_emplace(user, job.user.empty() ? std::to_string(user.value()) : job.user);
  }
  if (names.empty()) return {};
  std::vector<GroupFigures> groups;
  for (auto& [user, sums] :
       sums_by(trace, result, [](const trace::TraceJob& job) { return job.spec.user; })) {
    groups.push_back(figures_of(std::move(sums), user == UserId(0) ? "-" : names[user]));
  }
  std::ranges::stable_sort(groups, std::ranges::greater(), &GroupFigures::gpu_hours);
  return groups;
}

std::vector<GroupFigures> by_size(const trace::Trace& trace, const Result& result) {
  if (trace.jobs.empty()) return {};
  std::vector<GroupFigures> groups;
  for (auto& [size, sums] : sums_by(trace, result, size_class)) {
    groups.push_back(figures_of(std::move(sums), name_of_size(size)));
  }
  return groups;
}

nlohmann::ordered_json to_json(const std::vector<GroupFigures>& groups) {
  auto list = nlohmann::ordered_json::array();
  for (const GroupFigures& group : groups) {
    list.push_back({{"name", group.name},
                    {"submitted", group.submitted},
                    {"jobs", group.jobs},
                    {"rejected", group.rejected},
                    {"gpu_hours", group.gpu_hours},
                    {"mean_jct_seconds", json_of(group.jct.known(&Spread::mean))},
                    {"p95_jct_seconds", json_of(group.jct.known(&Spread::p95))},
                    {"mean_wait_seconds", json_of(group.wait.known(&Spread::mean))},
                    {"p95_wait_seconds", json_of(group.wait.known(&Spread::p95))},
                    {"max_wait_seconds", json_of(group.wait.known(&Spread::max))},
                    {"mean_slowdown", json_of(group.slowdown.known(&Spread::mean))}});
  }
  return list;
}

std::string to_text(const std::string& head, const std::vector<GroupFigures>& groups,
                    std::size_t most) {
  char line[200];
  std::snprintf(line, sizeof line, "%-16s %9s %9s %12s %12s %12s %9s %12s\n", head.c_str(), "jobs",
                "ended", "mean JCT", "p95 JCT", "mean wait", "slowdown", "GPU-hours");
  std::string text = line;
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i) {
    const GroupFigures& group = groups[i];
    std::snprintf(line, sizeof line, " %9zu %9zu %12s %12s %12s %9s %12.1f\n", group.submitted,
                  group.jobs, to_text(group.jct.known(&Spread::mean), 1).c_str(),
                  to_text(group.jct.known(&Spread::p95), 1).c_str(),
                  to_text(group.wait.known(&Spread::mean), 1).c_str(),
                  to_text(group.slowdown.known(&Spread::mean), 2).c_str(), group.gpu_hours);
    text += group.name + std::string(16 - std::min<std::size_t>(16, group.name.size()), ' ') + line;
  }
  if (groups.size() > most) {
    text += "and " + std::to_string(groups.size() - most) + " more; the summary has them all\n";
  }
  return text;
}

}  // namespace berth::sim
