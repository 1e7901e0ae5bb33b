#include "sim/estimates.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "core/rng.hpp"

namespace berth::sim {

namespace {

constexpr std::int64_t kMost = 99;

}  // namespace

Expected<Estimates> parse_estimates(std::string_view text) {
  if (text == "exact") return Estimates(0);
  if (text == "none") return Estimates();
  std::string_view digits = text;
  if (digits.starts_with("+-")) digits.remove_prefix(2);
  std::int64_t percent = 0;
  if (digits.ends_with('%')) {
    digits.remove_suffix(1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
    if (whole && percent >= 0 && percent <= kMost) return Estimates(percent);
  }
  return fail(ErrorCode::InvalidArgument, "--estimates: '" + std::string(text) +
                                              "' is not exact, none, or +-N% with N from 0 to " +
                                              std::to_string(kMost));
}

void apply_estimates(trace::Trace& trace, const Estimates& estimates, std::uint64_t seed) {
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    trace::TraceJob& job = trace.jobs[i];
    job.spec.estimate = estimates ? job.duration : kForever;
    if (!estimates || *estimates == 0) continue;
    Rng rng(seed, i);
    const std::int64_t ppm = 1'000'000 + rng.between(-10'000 * *estimates, 10'000 * *estimates);
    const double scaled =
        static_cast<double>(micros(job.duration)) * static_cast<double>(ppm) / 1e6;
    job.spec.estimate = std::max(Duration(1), Duration(std::llround(scaled)));
  }
}

void apply_load(trace::Trace& trace, double load) {
  if (trace.jobs.empty() || load == 1) return;
  const Instant first = trace.jobs.front().submit;
  for (trace::TraceJob& job : trace.jobs) {
    const auto after = static_cast<double>(micros(job.submit - first));
    job.submit = first + Duration(std::llround(after / load));
  }
}

}  // namespace berth::sim
