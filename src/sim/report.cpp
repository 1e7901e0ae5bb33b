#include "sim/report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "core/text.hpp"

namespace berth::sim {

namespace {

bool is_number(const std::string& name) {
  return !name.empty() && name.size() <= 18 &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

/// Trace indices in the order of the jobs' names.
std::vector<std::size_t> by_name(const trace::Trace& trace) {
  std::vector<std::size_t> order(trace.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool numbers = std::ranges::all_of(trace.jobs, is_number, &trace::TraceJob::name);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const std::string& x = trace.jobs[a].name;
    const std::string& y = trace.jobs[b].name;
    return numbers ? std::stoll(x) < std::stoll(y) : x < y;
  });
  return order;
}

/// `,SECONDS` of jobs that waited and have a predicted start, `,` of all others; none at all
/// unless starts were predicted.
std::vector<std::string> predicted_starts(const Result& result) {
  if (!result.predictions) return std::vector<std::string>(result.jobs.size());
  std::vector<std::string> column(result.jobs.size(), ",");
  for (const Prediction& one : result.predictions->waited) {
    if (one.start) column[one.job] += seconds_text(*one.start);
  }
  return column;
}

std::string row(const trace::TraceJob& asked, const JobResult& job) {
  std::string text = asked.name + "," + seconds_text(asked.submit) + ",";
  const bool ran = job.end != kNever;
  text += (job.start == kNever ? "" : seconds_text(job.start)) + ",";
  text += (ran ? seconds_text(job.end) : "") + ",";
  text += (ran ? seconds_text(job.end - asked.submit - job.spent.ran) : "") + ",";
  text += (ran ? seconds_text(job.end - asked.submit) : "") + ",";
  text += std::to_string(asked.spec.request.gpu.count.raw()) + "," +
          std::to_string(job.preemptions) + "," + std::to_string(job.memory.total());
  return text;
}

nlohmann::ordered_json to_json(const Spread& spread) {
  return {{"mean", spread.mean},
          {"median", spread.median},
          {"p95", spread.p95},
          {"p99", spread.p99},
          {"max", spread.max}};
}

std::string line(const char* name, const Spread& spread) {
  char text[160];
  std::snprintf(text, sizeof text, "%-12s %14.2f %14.2f %14.2f %14.2f\n", name, spread.mean,
                spread.median, spread.p95, spread.max);
  return text;
}

std::string to_text(const EstimateFigures& told) {
  if (told.known == 0) return "run times were not known to the policy\n";
  char text[200];
  std::snprintf(text, sizeof text,
                "run times as told: %.1f %% of jobs known; %.1f %% within a factor of two, %.1f %% "
                "shorter than half, %.1f %% longer than twice\n",
                100 * told.known, 100 * told.close, 100 * told.shorter, 100 * told.longer);
  return text;
}

}  // namespace

std::string jobs_csv(const trace::Trace& trace, const Result& result) {
  std::string text = "job_id,submit,start,end,wait,jct,gpus,preemptions,ooms";
  text += result.predictions ? ",predicted_start\n" : "\n";
  const std::vector<std::string> predicted = predicted_starts(result);
  for (const std::size_t i : by_name(trace)) {
    text += row(trace.jobs[i], result.jobs[i]) + predicted[i] + "\n";
  }
  return text;
}

std::string summary_json(const RunNames& names, const Metrics& metrics) {
  nlohmann::ordered_json json = {{"trace", names.trace},
                                 {"cluster", names.cluster},
                                 {"policy", names.policy},
                                 {"place", names.place},
                                 {"jobs", metrics.jobs},
                                 {"rejected", metrics.rejected},
                                 {"jct_seconds", to_json(metrics.jct)},
                                 {"wait_seconds", to_json(metrics.wait)},
                                 {"slowdown", to_json(metrics.slowdown)},
                                 {"fairness", metrics.fairness},
                                 {"makespan_seconds", metrics.makespan},
                                 {"jobs_per_hour", metrics.jobs_per_hour},
                                 {"work_gpu_hours_per_hour", metrics.work_per_hour},
                                 {"gpu_allocation", metrics.allocated},
                                 {"preemptions", metrics.preemptions},
                                 {"ooms", metrics.ooms}};
  if (const EstimateFigures& told = metrics.estimates; !told.are_exact) {
    json["estimates"] = {{"known", told.known},
                         {"within_twice", told.close},
                         {"shorter", told.shorter},
                         {"longer", told.longer}};
  }
  if (metrics.predictions) json["predictions"] = to_json(*metrics.predictions);
  if (!metrics.waits.empty()) json["waits"] = to_json(metrics.waits);
  if (metrics.machine) json["machine"] = to_json(*metrics.machine, metrics.run_over_alone);
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string summary_table(const RunNames& names, const Metrics& metrics) {
  std::string text = names.policy + " (" + names.place + ") on " + names.cluster + ", " +
                     std::to_string(metrics.jobs) + " jobs";
  if (metrics.rejected > 0) text += ", " + std::to_string(metrics.rejected) + " rejected";
  if (metrics.timed_out > 0) {
    text += ", " + std::to_string(metrics.timed_out) + " ended by their time limit";
  }
  char header[160];
  std::snprintf(header, sizeof header, "\n%-12s %14s %14s %14s %14s\n", "seconds", "mean", "median",
                "p95", "max");
  text += header + line("JCT", metrics.jct) + line("wait", metrics.wait);
  char rest[320];
  std::snprintf(rest, sizeof rest,
                "slowdown: mean %.2f, median %.2f, p95 %.2f; fairness between users %.3f\n"
                "makespan %.0f s, GPUs allocated %.1f %%, %lld preemptions\n"
                "throughput: %.2f jobs an hour, %.2f GPU-hours of work an hour\n",
                metrics.slowdown.mean, metrics.slowdown.median, metrics.slowdown.p95,
                metrics.fairness, metrics.makespan, 100 * metrics.allocated,
                static_cast<long long>(metrics.preemptions), metrics.jobs_per_hour,
                metrics.work_per_hour);
  text += rest;
  if (!metrics.estimates.are_exact) text += to_text(metrics.estimates);
  if (metrics.predictions) text += to_text(*metrics.predictions);
  if (!metrics.waits.empty()) text += to_text(metrics.waits);
  if (metrics.machine) text += to_text(*metrics.machine, metrics.run_over_alone);
  return text;
}

}  // namespace berth::sim
