#include "sim/estimates.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "core/run_estimate.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kMostPercent = 99;
constexpr std::int64_t kPercent = 10'000;  ///< Parts per million.

/// Errors of the model of Helios, by tenths of all jobs: more than the step before, at most this.
struct Step {
  std::int64_t tenths;  ///< Of jobs, this step and those before.
  std::int64_t percent;
};
constexpr std::array<Step, 5> kHeliosSteps = {
    {{1, 10}, {5, 50}, {7, 100}, {9, 1000}, {10, 10'000}}};

/// What is added to the truth, in parts per million of it.
std::int64_t helios_error(Rng& rng) {
  const std::int64_t tenth = rng.between(1, 10);
  std::int64_t low = 0;
  for (const Step& step : kHeliosSteps) {
    if (tenth <= step.tenths) {
      const std::int64_t error = rng.between(low, kPercent * step.percent);
      return rng.one_in(2) ? error : -error;
    }
    low = kPercent * step.percent;
  }
  return 0;
}

std::int64_t error_of(const Estimates& estimates, Rng& rng) {
  if (estimates.kind == Estimates::Kind::Helios) return helios_error(rng);
  return rng.between(-kPercent * estimates.percent, kPercent * estimates.percent);
}

void reverse_run_times(trace::Trace& trace) {
  std::vector<trace::TraceJob*> by_run_time;
  for (trace::TraceJob& job : trace.jobs) by_run_time.push_back(&job);
  std::ranges::stable_sort(by_run_time, {}, &trace::TraceJob::duration);
  for (std::size_t i = 0; i < by_run_time.size(); ++i) {
    by_run_time[i]->spec.estimate =
        std::max(Duration(1), by_run_time[by_run_time.size() - 1 - i]->duration);
  }
}

}  // namespace

Expected<Estimates> parse_estimates(std::string_view text) {
  if (text == "exact") return Estimates{Estimates::Kind::Even};
  if (text == "none") return Estimates();
  if (text == "learned") return Estimates{Estimates::Kind::Learned};
  if (text == "helios") return Estimates{Estimates::Kind::Helios};
  if (text == "adversarial") return Estimates{Estimates::Kind::Adversarial};
  std::string_view digits = text;
  if (digits.starts_with("+-")) digits.remove_prefix(2);
  std::int64_t percent = 0;
  if (digits.ends_with('%')) {
    digits.remove_suffix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    if (whole && percent >= 0 && percent <= kMostPercent)
      return Estimates{Estimates::Kind::Even, percent};
  }
  return fail(
      ErrorCode::InvalidArgument,
      "--estimates: '" + std::string(text) +
          "' is not exact, none, learned, helios, adversarial, a file, or +-N% with N from 0 to " +
          std::to_string(kMostPercent));
}

void apply_estimates(trace::Trace& trace, const Estimates& estimates, std::uint64_t seed) {
  if (estimates.kind == Estimates::Kind::Adversarial) return reverse_run_times(trace);
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    trace::TraceJob& job = trace.jobs[i];
    const bool is_none =
        estimates.kind == Estimates::Kind::None || estimates.kind == Estimates::Kind::Learned;
    job.spec.estimate = is_none ? kForever : job.duration;
    if (is_none || estimates == Estimates{Estimates::Kind::Even}) continue;
    Rng rng(seed, i);
    const std::int64_t ppm = 1'000'000 + error_of(estimates, rng);
    const double scaled =
        static_cast<double>(micros(job.duration)) * static_cast<double>(ppm) / 1e6;
    job.spec.estimate = std::max(Duration(1), Duration(std::llround(scaled)));
  }
}

Learner::Learner(const trace::Trace& trace, Programs programs) : trace_(trace) {
  if (programs == Programs::None) programs = Programs::Model;
  whats_.reserve(trace.jobs.size());
  for (const trace::TraceJob& job : trace.jobs) whats_.push_back(fingerprint_of(job, programs));
}

void Learner::learn(std::size_t job, Duration ran, Outcome outcome) {
  const JobSpec& asked = trace_.jobs[job].spec;
  const Fingerprint what = whats_[job];
  if (what == Fingerprint(0) || !is_whole_run(outcome)) return;
  runs_.add(asked.user, what, {.gpus = asked.request.gpu.count, .ran = ran});
  latest_.push_back({.user = asked.user, .what = what, .outcome = outcome});
}

void Learner::estimate(std::size_t job, JobSpec& spec) const {
  learn_estimate(spec, whats_[job], {.runs = runs_});
}

std::vector<Estimated> Learner::late(const ClusterView& view,
                                     const std::function<std::size_t(JobId)>& index_of) {
  const std::vector<Ended> latest = std::exchange(latest_, {});
  return late_estimates(view, {.runs = runs_}, latest,
                        [&](JobId job) { return whats_[index_of(job)]; });
}

void apply_load(trace::Trace& trace, double load) {
  if (trace.jobs.empty() || load == 1) return;
  const Instant first = trace.jobs.front().submit;
  for (trace::TraceJob& job : trace.jobs) {
    const auto after = static_cast<double>(micros(job.submit - first));
    const Instant submit = first + Duration(std::llround(after / load));
    if (job.spec.deadline != kNever) job.spec.deadline += submit - job.submit;
    job.submit = submit;
  }
}

}  // namespace berth::sim
