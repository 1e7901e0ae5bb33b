#include "lab/workload.hpp"

#include <algorithm>

#include "core/base/rng.hpp"
#include "core/steady.hpp"
#include "trace/rows.hpp"

namespace berth::lab {

namespace {

using namespace literals;

struct Kind {
  const char* name;
  const char* user;
  int count;
  std::int64_t least_gib;
  std::int64_t most_gib;
  std::int64_t least_millis;
  std::int64_t most_millis;
  std::int64_t duty_percent;
  DurationClass duration_class;
};

constexpr Kind kKinds[] = {
    {"train", "ada", 4, 11, 15, 6000, 9000, 60, DurationClass::Long},
    {"vision", "ben", 6, 6, 9, 2500, 4000, 44, DurationClass::Medium},
    {"probe", "cem", 14, 2, 4, 500, 1200, 13, DurationClass::Short},
};

/// Loads for a third of its time. Real requests leave a little room: a fifth of a GiB to one.
trace::TraceJob job_of(const Kind& kind, int number, Rng& rng) {
  const Bytes needs = 1_GiB * rng.between(kind.least_gib, kind.most_gib);
  const std::int64_t millis = rng.between(kind.least_millis, kind.most_millis);
  trace::TraceJob job{.name = std::string(kind.name) + "-" + std::to_string(number),
                      .submit = kStart + Duration(rng.between(0, 3'000'000)),
                      .duration = millis / 20 * Duration(20'000),
                      .spec = {.duration_class = kind.duration_class},
                      .user = kind.user};
  job.spec.request.gpu = {.count = GpuCount(1), .vram = needs + 256_MiB * rng.between(1, 4)};
  job.duty = GpuMilli(kind.duty_percent * 10);
  job.use = trace::UseCurve({{Duration(0), Bytes(0)}, {Duration(millis * 300), needs}});
  return job;
}

std::unexpected<Error> refuse(const trace::TraceJob& job, const char* what) {
  return fail(ErrorCode::InvalidArgument,
              "job " + job.name + ": " + what + ", which is not run live");
}

}  // namespace

trace::Trace mixed_workload(std::uint64_t seed) {
  trace::Trace trace;
  Rng rng(seed);
  for (const Kind& kind : kKinds) {
    for (int i = 1; i <= kind.count; ++i) trace.jobs.push_back(job_of(kind, i, rng));
  }
  trace::number_users(trace);
  std::ranges::stable_sort(trace.jobs, {}, &trace::TraceJob::submit);
  return trace;
}

Cluster two_cards() {
  Cluster cluster;
  cluster.add_switch();
  cluster.add_node({.name = "n", .gpus = 2, .vram = 24_GiB});
  return cluster;
}

Expected<void> prepare_for_live(trace::Trace& trace) {
  for (trace::TraceJob& job : trace.jobs) {
    const GpuRequest& gpu = job.spec.request.gpu;
    if (!job.after.empty()) return refuse(job, "comes after others");
    if (!job.types.empty()) return refuse(job, "names types of GPU");
    if (gpu.is_elastic()) return refuse(job, "is elastic");
    if (job.duty == trace::kUnstatedDuty) job.duty = kWholeGpu;
    if (job.use.empty() && gpu.vram > Bytes(0)) {
      job.use = trace::UseCurve({{Duration(0), gpu.vram}});
    }
  }
  return {};
}

void make_faster(trace::Trace& trace, std::int64_t factor) {
  for (trace::TraceJob& job : trace.jobs) {
    job.submit = kStart + (job.submit - kStart) / factor;
    job.duration /= factor;
    if (job.spec.time_limit != kForever) job.spec.time_limit /= factor;
    std::vector<trace::UsePoint> points;
    for (const trace::UsePoint& point : job.use.points()) {
      const Duration at = point.at / factor;
      if (!points.empty() && points.back().at == at) points.pop_back();
      points.push_back({at, point.bytes});
    }
    job.use = trace::UseCurve(std::move(points));
  }
}

Expected<Cluster> as_emulated(const Cluster& cluster) {
  constexpr std::int64_t kKept = 64;  ///< The driver keeps one part of so many.
  constexpr Bytes kContext = 300_MiB;
  if (cluster.nodes().size() != 1) {
    return fail(ErrorCode::InvalidArgument, "a live run is on one machine, the cluster has " +
                                                std::to_string(cluster.nodes().size()) + " nodes");
  }
  if (cluster.gpus().empty()) {
    return fail(ErrorCode::InvalidArgument, "a live run needs a GPU, the cluster has none");
  }
  Cluster emulated;
  emulated.add_switch();
  const GpuSpec& gpu = cluster.gpus().front();
  const std::int64_t steps = (kContext.raw() + kProbeStep.raw() - 1) / kProbeStep.raw();
  emulated.add_node({.name = "n",
                     .gpus = cluster.nodes().front().gpus,
                     .vram = gpu.capacity - Bytes(gpu.capacity.raw() / kKept),
                     .context = kProbeStep * steps});
  return emulated;
}

std::string emulated_gpus(const Cluster& cluster) {
  return std::to_string(cluster.nodes().front().gpus) + "x" +
         std::to_string(cluster.gpus().front().capacity / 1_MiB) + "M";
}

}  // namespace berth::lab
