#include "report/report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "core/text/text.hpp"
#include "trace/rows.hpp"

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

std::string_view outcome_of(const JobResult& job) {
  if (!job.refused.empty()) return "rejected";
  if (job.timed_out) return "timeout";
  return job.memory.failed ? "oom" : "done";
}

/// `n0:0-3 n1:0`, the host alone without GPUs; "" for a job that never started.
std::string placement_of(const Cluster& cluster, const JobResult& job) {
  if (job.start == kNever) return "";
  if (job.gpus.empty()) return trace::plain(cluster.node(job.host).name);
  std::string text;
  for (std::size_t i = 0; i < job.gpus.size();) {
    const NodeSpec& node = cluster.node(cluster.node_of(job.gpus[i]));
    text += (text.empty() ? "" : " ") + trace::plain(node.name);
    for (const char* before = ":"; i < job.gpus.size() && job.gpus[i] < node.end_gpu();
         before = "+") {
      const std::uint32_t first = job.gpus[i].value();
      std::uint32_t last = first;
      ++i;
      while (i < job.gpus.size() && job.gpus[i] == GpuId(last + 1) &&
             job.gpus[i] < node.end_gpu()) {
        ++last;
        ++i;
      }
      const std::uint32_t base = node.first_gpu.value();
      text += before + std::to_string(first - base);
      if (last > first) text += "-" + std::to_string(last - base);
    }
  }
  return text;
}

std::string later_columns(const trace::TraceJob& asked, const Cluster& cluster,
                          const JobResult& job) {
  return "," + trace::plain(asked.user) + "," + std::string(outcome_of(job)) + "," +
         (job.start == kNever ? "" : seconds_text(job.spent.ran)) + "," +
         placement_of(cluster, job);
}

nlohmann::ordered_json to_json(const Spread& spread) {
  return {{"mean", json_of(spread.known(&Spread::mean))},
          {"median", json_of(spread.known(&Spread::median))},
          {"p95", json_of(spread.known(&Spread::p95))},
          {"p99", json_of(spread.known(&Spread::p99))},
          {"max", json_of(spread.known(&Spread::max))}};
}

std::string line(const char* name, const Spread& spread) {
  char text[160];
  std::snprintf(text, sizeof text, "%-12s", name);
  std::string all = text;
  for (const auto part : {&Spread::mean, &Spread::median, &Spread::p95, &Spread::max}) {
    std::snprintf(text, sizeof text, " %14s", to_text(spread.known(part), 2).c_str());
    all += text;
  }
  return all + "\n";
}

std::string percent_line(const char* name, double share) {
  char text[80];
  std::snprintf(text, sizeof text, "%s %.1f %%\n", name, 100 * share);
  return text;
}

/// Nothing where no job ended.
std::optional<double> makespan_of(const Metrics& metrics) {
  return metrics.jobs > 0 ? std::optional(metrics.makespan) : std::nullopt;
}

/// Of those jobs only.
nlohmann::ordered_json with_count(const Spread& spread) {
  nlohmann::ordered_json json = {{"jobs", spread.count}};
  json.update(to_json(spread));
  return json;
}

nlohmann::ordered_json to_json(const Bound& bound) {
  return {{"jobs", bound.jobs},
          {"mean_jct_seconds", bound.jct},
          {"mean_wait_seconds", json_of(bound.wait)}};
}

nlohmann::ordered_json to_json(const WhileArriving& figures) {
  nlohmann::ordered_json json = {{"seconds", figures.seconds},
                                 {"jobs_per_hour", figures.jobs_per_hour},
                                 {"work_gpu_hours_per_hour", figures.work_per_hour},
                                 {"gpu_allocation", figures.allocated},
                                 {"gpu_in_use", figures.in_use}};
  if (figures.busy) json["gpu_busy"] = *figures.busy;
  if (figures.held) json["gpu_memory_held"] = *figures.held;
  return json;
}

nlohmann::ordered_json to_json(const DeadlineFigures& figures) {
  return {{"jobs", figures.jobs},
          {"met", figures.met},
          {"late", figures.late},
          {"mean_lateness_seconds", figures.lateness}};
}

std::string users_text(const UserFigures& figures) {
  char text[300];
  std::snprintf(text, sizeof text,
                "between %zu users: mean JCTs vary by %.2f of their mean, mean slowdowns by %.2f; "
                "service over an equal split: Jain's index %s, least %s\n",
                figures.users, figures.jct.coefficient, figures.slowdown.coefficient,
                to_text(figures.service, 3).c_str(), to_text(figures.least_service, 2).c_str());
  return text;
}

/// Nothing of kinds of job that there are none of.
std::string special_waits_text(const Metrics& metrics) {
  std::string text;
  if (const Spread& wait = metrics.short_wait; wait.count > 0) {
    text += "wait of " + std::to_string(wait.count) + " short jobs: p95 " + to_text(wait.p95, 2);
  }
  if (const Spread& wait = metrics.large_wait; wait.count > 0) {
    text += (text.empty() ? "wait of " : "; of ") + std::to_string(wait.count) +
            " large jobs: mean " + to_text(wait.mean, 2) + ", p95 " + to_text(wait.p95, 2) +
            ", longest " + to_text(wait.max, 2);
  }
  return text.empty() ? "" : text + "\n";
}

std::string to_text(const DeadlineFigures& figures) {
  char text[160];
  std::snprintf(text, sizeof text,
                "deadlines: %zu of %zu met (%.1f %%), %zu late by %.1f s on average\n", figures.met,
                figures.jobs,
                100 * static_cast<double>(figures.met) / static_cast<double>(figures.jobs),
                figures.late, figures.lateness);
  return text;
}

std::string to_text(const WhileArriving& figures) {
  char text[200];
  std::snprintf(text, sizeof text,
                "while jobs arrived (%.0f s): GPUs allocated %.1f %%, %.2f jobs an hour, %.2f "
                "GPU-hours of work an hour\n",
                figures.seconds, 100 * figures.allocated, figures.jobs_per_hour,
                figures.work_per_hour);
  return text;
}

/// `3 of 5 jobs ended, 1 rejected, 1 ended by its time limit`.
std::string counts_text(const Metrics& metrics) {
  std::string text =
      std::to_string(metrics.jobs) + " of " + std::to_string(metrics.submitted) + " jobs ended";
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(metrics.rejected, "rejected");
  add(metrics.timed_out, "stopped by their time limit");
  add(metrics.out_of_memory, "failed for lack of memory");
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

std::string jobs_csv(const trace::Trace& trace, const Cluster& cluster, const Result& result) {
  std::string text = "job_id,submit,start,end,wait,jct,gpus,preemptions,ooms";
  text += result.predictions ? ",predicted_start" : "";
  text += ",user,outcome,run,placement\n";
  const std::vector<std::string> predicted = predicted_starts(result);
  for (const std::size_t i : by_name(trace)) {
    const JobResult& job = result.jobs[i];
    text +=
        row(trace.jobs[i], job) + predicted[i] + later_columns(trace.jobs[i], cluster, job) + "\n";
  }
  return text;
}

nlohmann::ordered_json to_json(const RunNames& names) {
  nlohmann::ordered_json options = nlohmann::ordered_json::object();
  for (const auto& [name, value] : names.how.options) options[name] = value;
  return {{"trace", names.trace},        {"trace_sha256", names.how.trace_sha256},
          {"cluster", names.cluster},    {"policy", names.policy},
          {"place", names.place},        {"load", names.how.load},
          {"seed", names.how.seed},      {"options", std::move(options)},
          {"version", names.how.version}};
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

nlohmann::ordered_json summary_json(const RunNames& names, const Metrics& metrics,
                                    const Groups& groups) {
  nlohmann::ordered_json json = to_json(names);
  json.update({{"submitted", metrics.submitted},
               {"jobs", metrics.jobs},
               {"rejected", metrics.rejected},
               {"timed_out", metrics.timed_out},
               {"out_of_memory", metrics.out_of_memory},
               {"jct_seconds", to_json(metrics.jct)},
               {"wait_seconds", to_json(metrics.wait)},
               {"short_wait_seconds", with_count(metrics.short_wait)},
               {"large_wait_seconds", with_count(metrics.large_wait)},
               {"slowdown", to_json(metrics.slowdown)},
               {"fairness", json_of(metrics.fairness())},
               {"makespan_seconds", json_of(makespan_of(metrics))},
               {"jobs_per_hour", metrics.jobs_per_hour},
               {"work_gpu_hours_per_hour", metrics.work_per_hour},
               {"gpu_allocation", metrics.allocated},
               {"gpu_in_use", metrics.in_use},
               {"tenants_per_gpu_in_use", metrics.tenants},
               {"preemptions", metrics.preemptions},
               {"ooms", metrics.ooms}});
  if (metrics.busy) json["gpu_busy"] = *metrics.busy;
  if (metrics.held) json["gpu_memory_held"] = *metrics.held;
  if (metrics.users) json["between_users"] = to_json(*metrics.users);
  if (metrics.bound) json["no_schedule_below"] = to_json(*metrics.bound);
  if (metrics.arriving) json["while_arriving"] = to_json(*metrics.arriving);
  if (metrics.deadlines) json["deadlines"] = to_json(*metrics.deadlines);
  if (const EstimateFigures& told = metrics.estimates; !told.are_exact) {
    json["estimates"] = {{"known", told.known},
                         {"within_twice", told.close},
                         {"shorter", told.shorter},
                         {"longer", told.longer}};
  }
  if (metrics.predictions) json["predictions"] = to_json(*metrics.predictions);
  if (!metrics.waits.empty()) json["waits"] = to_json(metrics.waits);
  if (metrics.machine) json["machine"] = to_json(*metrics.machine, metrics.run_over_alone);
  if (!groups.users.empty()) json["by_user"] = to_json(groups.users);
  if (!groups.sizes.empty()) json["by_size"] = to_json(groups.sizes);
  return json;
}

std::string summary_table(const RunNames& names, const Metrics& metrics) {
  std::string text =
      names.policy + " (" + names.place + ") on " + names.cluster + ", " + counts_text(metrics);
  char header[160];
  std::snprintf(header, sizeof header, "\n%-12s %14s %14s %14s %14s\n", "seconds", "mean", "median",
                "p95", "max");
  text += header + line("JCT", metrics.jct) + line("wait", metrics.wait);
  text += special_waits_text(metrics);
  const auto slowdown = [&](double Spread::* part) {
    return to_text(metrics.slowdown.known(part), 2);
  };
  text += "slowdown: mean " + slowdown(&Spread::mean) + ", median " + slowdown(&Spread::median) +
          ", p95 " + slowdown(&Spread::p95) + "; fairness between users " +
          to_text(metrics.fairness(), 3) + "\n";
  if (metrics.users) text += users_text(*metrics.users);
  char rest[320];
  std::snprintf(rest, sizeof rest,
                "makespan %s s, GPUs allocated %.1f %%, %lld preemptions\n"
                "throughput: %.2f jobs an hour, %.2f GPU-hours of work an hour\n",
                to_text(makespan_of(metrics), 0).c_str(), 100 * metrics.allocated,
                static_cast<long long>(metrics.preemptions), metrics.jobs_per_hour,
                metrics.work_per_hour);
  text += rest;
  if (metrics.arriving) text += to_text(*metrics.arriving);
  if (metrics.has_shared()) {
    std::snprintf(rest, sizeof rest, "GPUs in use %.1f %%, by %.2f tenants each on average\n",
                  100 * metrics.in_use, metrics.tenants);
    text += rest;
  }
  if (metrics.busy) text += percent_line("GPU time with a kernel", *metrics.busy);
  if (metrics.held) text += percent_line("GPU memory held", *metrics.held);
  if (metrics.deadlines) text += to_text(*metrics.deadlines);
  if (!metrics.estimates.are_exact) text += to_text(metrics.estimates);
  if (metrics.predictions) text += to_text(*metrics.predictions);
  if (!metrics.waits.empty()) text += to_text(metrics.waits);
  if (metrics.machine) text += to_text(*metrics.machine, metrics.run_over_alone);
  return text;
}

}  // namespace berth::sim
