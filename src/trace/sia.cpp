// Workloads of Pollux and Sia (Qiao et al., OSDI 2021; Jayaram Subramanya et al., SOSP 2023): an
// application, its tuned GPUs and batch size; no run time.
//
// That is taken from their profiles: the iterations to the end of validation-BATCH.csv, times the
// step time of the placement with the fewest nodes that has so many GPUs, by linear interpolation
// over the batch per GPU. Beyond the largest batch profiled a step takes as much longer as it is
// larger (gradients are accumulated).
#include <algorithm>
#include <map>
#include <tuple>

#include "trace/profile_points.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

// Bounds that keep every product in range.
constexpr std::int64_t kMostIterations = 10'000'000;
constexpr Duration kLongestStep = hours(24);

/// The largest number in the column `iteration`.
Expected<std::int64_t> read_iterations(const Profile& profile) {
  auto csv = Csv::open(profile.text, profile.name);
  if (!csv) return std::unexpected(csv.error());
  const auto column = csv->column("iteration");
  if (!column) return std::unexpected(column.error());
  for (std::int64_t most = 0;;) {
    const auto more = csv->next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return most;
    const auto here = csv->integer(*column, 0, kMostIterations);
    if (!here) return std::unexpected(here.error());
    most = std::max(most, *here);
  }
}

/// Requires: points in ascending order of their batches, at least one.
Duration step_at(const ProfilePoints& points, std::int64_t batch) {
  const auto above = std::ranges::lower_bound(points, batch, {}, &ProfilePoint::batch);
  if (above == points.end()) return points.back().step * batch / points.back().batch;
  if (above->batch == batch || above == points.begin()) return above->step;
  const ProfilePoint& below = *(above - 1);
  return below.step +
         (above->step - below.step) * (batch - below.batch) / (above->batch - below.batch);
}

/// Run times from the profiles. What is asked for once is kept.
class ScaledRuns {
 public:
  explicit ScaledRuns(const Source& source) : profiles_(source.profiles) {
    const std::string_view type = source.profile_type;
    if (!type.empty() && type != "aws") suffix_ = "-" + std::string(type);
  }

  /// Nothing where the profiles lack it.
  Expected<std::optional<Duration>> of(const std::string& application, std::int64_t gpus,
                                       std::int64_t batch) {
    const auto key = std::tuple(application, gpus, batch);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const auto time = work_out(application, gpus, batch);
    if (time) known_[key] = *time;
    return time;
  }

 private:
  const Profile* find(const std::string& name) const {
    const auto found = std::ranges::find(profiles_, name, &Profile::name);
    return found == profiles_.end() ? nullptr : &*found;
  }

  Expected<std::optional<Duration>> work_out(const std::string& application, std::int64_t gpus,
                                             std::int64_t batch) const {
    const Profile* const lengths =
        find(application + "/validation-" + std::to_string(batch) + ".csv");
    if (lengths == nullptr) return std::nullopt;
    const auto iterations = read_iterations(*lengths);
    if (!iterations) return std::unexpected(iterations.error());
    for (const char* const kind : {"/placements", "/scalability"}) {
      const Profile* const profile = find(application + kind + suffix_ + ".csv");
      if (profile == nullptr) continue;
      auto csv = Csv::open(profile->text, profile->name);
      if (!csv) return std::unexpected(csv.error());
      const auto points = read_profile_points(*csv);
      if (!points) return std::unexpected(points.error());
      const ProfilePoints ours = for_gpus(*points, gpus);
      if (ours.empty()) continue;
      const Duration step = step_at(ours, std::max<std::int64_t>(1, batch / gpus));
      if (step > kLongestStep) return std::nullopt;
      return *iterations * step;
    }
    return std::nullopt;
  }

  std::span<const Profile> profiles_;
  std::string suffix_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::optional<Duration>> known_;
};

}  // namespace

Expected<Trace> read_sia(const Source& source) {
  auto csv = open_table(source);
  if (!csv) return std::unexpected(csv.error());
  Columns columns(*csv);
  const std::size_t name = columns.need("name"), time = columns.need("time");
  const std::size_t application = columns.need("application");
  const std::size_t gpus = columns.need("num_replicas"), batch = columns.need("batch_size");
  if (auto error = columns.error()) return std::unexpected(*std::move(error));
  if (source.profiles.empty()) {
    return fail(ErrorCode::InvalidArgument,
                std::string(source.file) +
                    ": has no run times: --profiles names the folder of the models' profiles");
  }
  ScaledRuns run_times(source);
  std::optional<Error> bad_profile;
  auto trace = read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(row.name(name), row.gpus(gpus));
    job.submit = kStart + row.duration(time);
    job.model = row.text(application);
    const std::int64_t size = job.batch = row.integer(batch, 1, limits::kMostBatch);
    if (row.error()) return std::optional(std::move(job));
    const auto ran = run_times.of(job.model, job.spec.request.gpu.count.raw(), size);
    if (!ran) bad_profile = ran.error();
    const auto known = ran.value_or(std::nullopt);
    if (!known) row.refuse(application, "one with a profile for this batch size and these GPUs");
    job.duration = known.value_or(Duration(0));
    return std::optional(std::move(job));
  });
  if (bad_profile) return std::unexpected(*bad_profile);
  return trace;
}

}  // namespace berth::trace
