#include "report/series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "sim/spread.hpp"

namespace berth::sim {

namespace {

struct Span {
  Instant first = kNever;
  Instant last = kStart;
};

Span span_of(const trace::Trace& trace, const Result& result) {
  Span span;
  for (const JobResult& job : result.jobs) {
    if (job.end == kNever) continue;
    span.first = std::min(span.first, trace.jobs[job.job].submit);
    span.last = std::max(span.last, job.end);
  }
  return span;
}

/// Adds up how much of something there was in each of equal parts of a span.
class Parts {
 public:
  Parts(const Span& span, std::size_t parts)
      : first_(span.first),
        width_(std::max(1e-6, in_seconds(span.last - span.first) / static_cast<double>(parts))),
        sums_(parts, 0) {}

  void add(Instant from, Instant to, double amount) {
    const double begin = in_seconds(from - first_) / width_;
    const double end = in_seconds(to - first_) / width_;
    const auto last = static_cast<double>(sums_.size());
    for (double at = std::max(0.0, begin); at < std::min(end, last);) {
      const double next = std::min({std::floor(at) + 1, end, last});
      sums_[static_cast<std::size_t>(at)] += (next - at) * amount;
      if (next <= at) break;
      at = next;
    }
  }
  std::vector<Point> hours() const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      points.push_back({(static_cast<double>(i) + 0.5) * width_ / 3600, sums_[i]});
    }
    return points;
  }

 private:
  Instant first_;
  double width_;
  std::vector<double> sums_;
};

/// In percent of all GPU memory; a job that states none is granted its GPUs whole.
double memory_share(const trace::TraceJob& job, const Stretch& stretch, const Cluster& cluster) {
  const double all = static_cast<double>(cluster.total_vram().raw());
  double held = 0;
  for (const GpuId gpu : stretch.gpus) {
    const Bytes capacity = cluster.gpu(gpu).capacity;
    const Bytes asked = job.spec.request.gpu.vram;
    held += static_cast<double>((asked == Bytes(0) ? capacity : std::min(asked, capacity)).raw());
  }
  return all > 0 ? 100 * held / all : 0;
}

std::vector<Point> distribution(std::vector<double> values, std::size_t points) {
  std::ranges::sort(values);
  std::vector<Point> line;
  const std::size_t step = std::max<std::size_t>(1, values.size() / points);
  const auto all = static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); i += step) {
    line.push_back({values[i], 100 * static_cast<double>(i + 1) / all});
  }
  if (!values.empty()) line.push_back({values.back(), 100});
  return line;
}

template <class Measure>
std::vector<double> minutes_of(const trace::Trace& trace, const Result& result, Measure measure) {
  std::vector<double> values;
  for (const JobResult& job : result.jobs) {
    if (result.measured && !result.measured->has(trace.jobs[job.job].submit)) continue;
    if (job.end != kNever) values.push_back(in_seconds(measure(trace.jobs[job.job], job)) / 60);
  }
  return values;
}

}  // namespace

Series series_of(const trace::Trace& trace, const Cluster& cluster, const Result& result,
                 std::size_t parts) {
  const Span span = span_of(trace, result);
  if (span.first >= span.last) return {};
  Parts memory(span, parts);
  Parts waiting(span, parts);
  std::map<GpuId, Instant> busy_until;  // tenants of one GPU count once
  Parts busy(span, parts);
  for (const Stretch& stretch : result.stretches) {
    const Instant to = std::min(stretch.to, span.last);
    memory.add(stretch.from, to, memory_share(trace.jobs[stretch.job], stretch, cluster));
    for (const GpuId gpu : stretch.gpus) {
      const auto [known, is_new] = busy_until.try_emplace(gpu, span.first);
      busy.add(std::max(stretch.from, known->second), to, 1);
      known->second = std::max(known->second, to);
    }
  }
  for (const JobResult& job : result.jobs) {
    const Instant submit = trace.jobs[job.job].submit;
    if (job.start != kNever) waiting.add(submit, job.start, 1);
  }
  return {
      .busy_gpus = busy.hours(), .held_memory = memory.hours(), .waiting_jobs = waiting.hours()};
}

std::vector<Point> jct_distribution(const trace::Trace& trace, const Result& result,
                                    std::size_t points) {
  return distribution(minutes_of(trace, result,
                                 [](const trace::TraceJob& asked, const JobResult& job) {
                                   return job.end - asked.submit;
                                 }),
                      points);
}

std::vector<Point> wait_distribution(const trace::Trace& trace, const Result& result,
                                     std::size_t points) {
  const auto wait = [](const trace::TraceJob& asked, const JobResult& job) {
    return std::max(job.end - asked.submit - job.spent.ran, seconds(1));
  };
  auto line = distribution(minutes_of(trace, result, wait), points);
  if (!line.empty()) line.insert(line.begin(), {line.front().x, 0});
  return line;
}

std::vector<Bar> shares_by_user(const trace::Trace& trace, const Result& result, std::size_t most) {
  std::map<std::string, double> hours;
  for (const JobResult& job : result.jobs) {
    const trace::TraceJob& asked = trace.jobs[job.job];
    if (job.end == kNever) continue;
    const std::string user =
        asked.user.empty() ? "user " + std::to_string(asked.spec.user.value()) : asked.user;
    hours[user] +=
        static_cast<double>(asked.spec.request.gpu.count.raw()) * in_seconds(job.spent.ran) / 3600;
  }
  std::vector<Bar> bars;
  for (const auto& [user, value] : hours) bars.push_back({user.substr(0, 16), value, ""});
  std::ranges::stable_sort(bars, std::ranges::greater(), &Bar::value);
  if (bars.size() > most) {
    double rest = 0;
    for (std::size_t i = most; i < bars.size(); ++i) rest += bars[i].value;
    const std::string name = std::to_string(bars.size() - most) + " others";
    bars.resize(most);
    bars.push_back({name, rest, ""});
  }
  for (Bar& bar : bars) {
    char words[40];
    std::snprintf(words, sizeof words, "%.0f GPU-hours", bar.value);
    bar.words = words;
  }
  return bars;
}

}  // namespace berth::sim
