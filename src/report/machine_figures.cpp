#include "report/machine_figures.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/text/text.hpp"

namespace berth::sim {

namespace {

double gpus_of(const trace::TraceJob& job) {
  return static_cast<double>(job.spec.request.gpu.count.raw());
}

}  // namespace

MachineFigures machine_figures(const trace::Trace& trace, const Result& result) {
  MachineFigures figures{.cost = result.cost,
                         .energy = result.energy,
                         .is_perfect = result.is_perfect,
                         .lacks_memory = result.lacks_memory,
                         .has_faults = result.has_faults,
                         .suspended = result.suspended};
  double preemptions = 0;
  double ran = 0;
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    const double gpus = gpus_of(asked);
    figures.gpu_hours += gpus * in_seconds(job.spent.ran) / 3600;
    figures.shared_gpu_hours += gpus * in_seconds(job.spent.shared) / 3600;
    figures.ruled_gpu_hours += gpus * in_seconds(job.spent.ruled) / 3600;
    figures.overhead_gpu_hours += gpus * in_seconds(job.spent.overhead) / 3600;
    figures.lost_gpu_hours += gpus * in_seconds(job.spent.lost) / 3600;
    figures.timed_out += job.timed_out ? 1 : 0;
    for (std::size_t i = 0; i < kOomKinds; ++i) figures.ooms[i] += job.memory.ooms[i];
    figures.faults += job.faults;
    figures.overruns += job.memory.overruns;
    figures.out_of_memory += job.memory.failed ? 1 : 0;
    preemptions += job.preemptions;
    ran += job.start != kNever ? 1 : 0;
  }
  if (ran > 0) figures.preemptions_a_job = preemptions / ran;
  return figures;
}

nlohmann::ordered_json to_json(const MachineFigures& figures, const Spread& run) {
  nlohmann::ordered_json ooms = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kOomKinds; ++i) {
    ooms[std::string(word_for(static_cast<OomKind>(i)))] = figures.ooms[i];
  }
  const auto known = [&](double Spread::* part) { return json_of(run.known(part)); };
  nlohmann::ordered_json json = {{"run_over_alone",
                                  {{"mean", known(&Spread::mean)},
                                   {"median", known(&Spread::median)},
                                   {"p95", known(&Spread::p95)},
                                   {"max", known(&Spread::max)}}},
                                 {"gpu_hours", figures.gpu_hours},
                                 {"shared_gpu_hours", figures.shared_gpu_hours},
                                 {"ruled_gpu_hours", figures.ruled_gpu_hours},
                                 {"overhead_gpu_hours", figures.overhead_gpu_hours},
                                 {"lost_gpu_hours", figures.lost_gpu_hours},
                                 {"timed_out", figures.timed_out},
                                 {"ooms", ooms},
                                 {"overruns", figures.overruns},
                                 {"faults", figures.faults},
                                 {"out_of_memory", figures.out_of_memory}};
  if (figures.suspended) {
    json["preemptions_a_job"] = figures.preemptions_a_job;
    json["suspended_bytes_most"] = figures.suspended->raw();
  }
  if (figures.cost) json["cost"] = *figures.cost;
  if (!figures.energy.empty()) json["energy"] = to_json(figures.energy);
  return json;
}

namespace {

std::string memory_text(const MachineFigures& figures) {
  std::string text;
  for (std::size_t i = 0; i < kOomKinds; ++i) {
    text += (i == 0 ? "out of memory by " : ", by ") +
            std::string(word_for(static_cast<OomKind>(i))) + " " + std::to_string(figures.ooms[i]);
  }
  return text + "; ended for overrun " + std::to_string(figures.overruns) + "; jobs failed " +
         std::to_string(figures.out_of_memory) + "\n";
}

/// ` NAME NUMBER`, if there is anything of it.
std::string part(const char* name, double hours) {
  if (hours <= 0) return "";
  char text[80];
  std::snprintf(text, sizeof text, "%s %.1f", name, hours);
  return text;
}

std::string run_text(const MachineFigures& figures, const Spread& run) {
  const auto known = [&](double Spread::* part) { return to_text(run.known(part), 3); };
  return "run time over alone: mean " + known(&Spread::mean) + ", p95 " + known(&Spread::p95) +
         ", max " + known(&Spread::max) + "\n" + part("GPU-hours", figures.gpu_hours) +
         part("; shared", figures.shared_gpu_hours) +
         part("; at a speed by rule", figures.ruled_gpu_hours) +
         part("; overhead", figures.overhead_gpu_hours) +
         part("; work lost", figures.lost_gpu_hours) + "\n";
}

std::string suspended_text(const MachineFigures& figures) {
  char text[80];
  std::snprintf(text, sizeof text, "preemptions a job %.2f; suspended memory on a node at most ",
                figures.preemptions_a_job);
  return text + berth::to_text(*figures.suspended) + "\n";
}

std::string cost_text(double cost) {
  char text[64];
  std::snprintf(text, sizeof text, "cost %.2f\n", cost);
  return text;
}

}  // namespace

std::string to_text(const MachineFigures& figures, const Spread& run) {
  std::string lines = figures.is_perfect ? "" : run_text(figures, run);
  if (figures.lacks_memory) lines += memory_text(figures);
  if (figures.has_faults) lines += "lost to faults " + std::to_string(figures.faults) + "\n";
  if (figures.suspended) lines += suspended_text(figures);
  if (figures.cost) lines += cost_text(*figures.cost);
  if (!figures.energy.empty()) lines += to_text(figures.energy);
  return lines;
}

}  // namespace berth::sim
