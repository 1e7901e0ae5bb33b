// Whole numbers only, so that every machine draws the same bytes. What is drawn of jobs has one
// stream of random numbers for each thing, so that a change of one changes no other.
#include "trace/mix.hpp"

#include <algorithm>

#include "core/base/wide.hpp"
#include "trace/generate.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

constexpr std::int64_t kGreedyTimes = 10;
constexpr Duration kLongestSpan = hours(24) * 36'525;
constexpr std::int64_t kMebibyteOfMix = std::int64_t{1} << 20;
enum Stream : std::uint64_t { kArrivalStream, kWorkloadStream, kRunTimeStream, kUserStream };

/// The bounds of doc/headroom.md; a service is one however long it runs.
DurationClass honest_class(DurationClass stated, Duration run_time) {
  if (stated == DurationClass::Service) return stated;
  if (run_time <= minutes(15)) return DurationClass::Short;
  return run_time <= hours(4) ? DurationClass::Medium : DurationClass::Long;
}

/// The same curve over another run time. Points that fall together are a microsecond apart.
UseCurve stretched(const UseCurve& use, Duration from, Duration to) {
  std::vector<UsePoint> points;
  for (const UsePoint& point : use.points()) {
    const Wide at = Wide{micros(point.at)} * micros(to) / micros(from);
    points.push_back({Duration(static_cast<std::int64_t>(at)), point.bytes});
    if (points.size() < 2) continue;
    UsePoint& last = points.back();
    last.at = std::max(last.at, points[points.size() - 2].at + Duration(1));
  }
  return UseCurve(std::move(points));
}

/// Half of it, rounded up to a MiB.
Bytes half(Bytes peak) {
  const std::int64_t step = 2 * kMebibyteOfMix;
  return Bytes((peak.raw() + step - 1) / step * kMebibyteOfMix);
}

class Draw {
 public:
  Draw(const Mix& mix, std::span<const Workload> workloads, std::uint64_t seed)
      : mix_(mix),
        workloads_(workloads),
        workload_(seed, kWorkloadStream),
        run_time_(seed, kRunTimeStream),
        user_(seed, kUserStream) {
    for (const Mix::Choice& choice : mix.choices) weights_.push_back(choice.weight);
    for (std::int64_t i = 0; i < mix.users; ++i) {
      users_.push_back(i < mix.greedy ? kGreedyTimes : 1);
    }
  }

  TraceJob next(std::string name) {
    const std::vector<std::size_t>& likely = mix_.choices[pick(weights_, workload_)].workloads;
    const auto last = static_cast<std::int64_t>(likely.size()) - 1;
    TraceJob job = honest(workloads_[likely[static_cast<std::size_t>(workload_.between(0, last))]]);
    job.name = std::move(name);
    const auto user = static_cast<std::int64_t>(pick(users_, user_));
    if (user < mix_.greedy) {
      job.user = "greedy" + std::to_string(user + 1);
    } else if (user < mix_.greedy + mix_.lying) {
      job.user = "liar" + std::to_string(user - mix_.greedy + 1);
      lie(job);
    } else {
      job.user = "user" + std::to_string(user - mix_.greedy - mix_.lying + 1);
    }
    return job;
  }

  TraceJob extra(std::string name, const Mix::Extra& asked) {
    TraceJob job = honest(workloads_[asked.workload]);
    job.name = std::move(name);
    job.user = "extra";
    return job;
  }

 private:
  TraceJob honest(const Workload& workload) {
    TraceJob job = whole_gpu_job("", workload.gpus);
    job.spec.request.gpu.sharing = Sharing::Shared;
    job.spec.request.gpu.vram = workload.asks;
    job.model = workload.name;
    job.duty = workload.duty;
    job.duration = workload.run_time;
    job.use = workload.use;
    job.spec.duration_class = workload.duration_class;
    if (mix_.run_times == RunTimes::Philly) {
      job.duration = philly_run_time(workload.gpus.raw(), run_time_);
      job.use = stretched(workload.use, workload.run_time, job.duration);
      job.spec.duration_class = honest_class(workload.duration_class, job.duration);
    }
    if (mix_.limit > 0) {
      job.spec.time_limit =
          Duration(static_cast<std::int64_t>(Wide{micros(job.duration)} * mix_.limit / 1000));
    }
    return job;
  }

  void lie(TraceJob& job) const {
    job.spec.duration_class = DurationClass::Short;
    job.spec.request.gpu.vram = half(job.use.peak());
    if (mix_.limit > 0) job.spec.time_limit = kNeverReached;
  }

  const Mix& mix_;
  std::span<const Workload> workloads_;
  std::vector<std::int64_t> weights_, users_;
  Rng workload_, run_time_, user_;
};

/// How long arrivals take, so that the load is the mix's; nothing if that is more than a century.
std::optional<Duration> span_of(const Mix& mix, const std::vector<TraceJob>& jobs,
                                const MixSize& size) {
  Wide offered = 0;  // GPUs, or MiB, x microseconds
  for (const TraceJob& job : jobs) {
    const Wide each = mix.load_of == LoadOf::Gpus ? 1 : job.use.peak().raw() / kMebibyteOfMix;
    offered += each * job.spec.request.gpu.count.raw() * micros(job.duration);
  }
  const Wide machine =
      mix.load_of == LoadOf::Gpus ? Wide{size.gpus} : Wide{size.memory.raw() / kMebibyteOfMix};
  const Wide span = offered * 1000 / (std::max(machine, Wide{1}) * mix.load);
  if (span > micros(kLongestSpan)) return std::nullopt;
  return Duration(static_cast<std::int64_t>(span));
}

std::vector<Instant> steady_arrivals(std::int64_t jobs, Duration span, Rng rng) {
  std::vector<Instant> submits;
  for (std::int64_t i = 0; i < jobs; ++i) {
    submits.push_back(kStart + Duration(rng.between(0, micros(span))));
  }
  std::ranges::sort(submits);
  return submits;
}

std::vector<Instant> arrivals_together(std::int64_t jobs, std::int64_t users, Duration span,
                                       const Rng& rng) {
  std::vector<Instant> submits;
  for (const Instant each : steady_arrivals((jobs + users - 1) / users, span, rng)) {
    const auto left = jobs - static_cast<std::int64_t>(submits.size());
    submits.insert(submits.end(), static_cast<std::size_t>(std::min(users, left)), each);
  }
  return submits;
}

/// From 0 to exactly the end of the span, where they are not all at one instant.
void stretch(std::vector<Instant>& submits, Duration span) {
  const Instant first = submits.front();
  const Duration drawn = std::max(submits.back() - first, Duration(1));
  for (Instant& submit : submits) {
    const Wide at = Wide{micros(submit - first)} * micros(span) / micros(drawn);
    submit = kStart + Duration(static_cast<std::int64_t>(at));
  }
}

std::vector<Instant> arrivals_of(const Mix& mix, std::int64_t jobs, Duration span,
                                 std::uint64_t seed) {
  const Rng rng(seed, kArrivalStream);
  std::vector<Instant> submits;
  switch (mix.arrivals) {
    case Arrivals::Daily:
      submits = philly_arrivals(jobs, span / hours(1) + 1, rng);
      break;
    case Arrivals::Steady:
      submits = steady_arrivals(jobs, span, rng);
      break;
    case Arrivals::Together:
      submits = arrivals_together(jobs, mix.users, span, rng);
      break;
  }
  stretch(submits, span);
  return submits;
}

}  // namespace

Expected<Trace> draw_mix(const Mix& mix, std::span<const Workload> workloads, const MixSize& size,
                         std::uint64_t seed) {
  Trace trace;
  Draw draw(mix, workloads, seed);
  for (std::int64_t i = 0; i < size.jobs; ++i) {
    trace.jobs.push_back(draw.next(std::to_string(i + 1)));
  }
  const auto span = span_of(mix, trace.jobs, size);
  if (!span) {
    return fail(ErrorCode::InvalidArgument,
                "mix '" + mix.name + "': " + std::to_string(size.jobs) +
                    " jobs at this load arrive over more than a century");
  }
  const auto submits = arrivals_of(mix, size.jobs, *span, seed);
  for (std::size_t i = 0; i < submits.size(); ++i) trace.jobs[i].submit = submits[i];
  for (const Mix::Extra& extra : mix.extras) {
    trace.jobs.push_back(draw.extra(std::to_string(trace.jobs.size() + 1), extra));
    const Wide at = Wide{micros(*span)} * extra.at / 1000;
    trace.jobs.back().submit = kStart + Duration(static_cast<std::int64_t>(at));
  }
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  number_users(trace);
  return trace;
}

}  // namespace berth::trace
