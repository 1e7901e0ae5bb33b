// Gavel (Narayanan et al., OSDI 2020) and Shockwave (Zheng et al., NSDI 2023): fields between tabs,
// without a header, in three layouts told by their number.
//
// A job is a number of steps. Its run time is that number by the steps per second that the
// throughput file has for its type, its GPUs and one type of GPU (v100 unless another is named); a
// layout that states the run time needs no such file.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "trace/rows.hpp"

namespace berth::trace {

namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 6;  ///< Of the throughput file: types, jobs, pairs, a pair.
constexpr std::int64_t kMostSteps = 1'000'000'000'000;
constexpr double kMostSeconds = 3e9;

/// The layout with so many fields; nothing for a number that none has.
std::optional<Layout> layout_of(std::string_view line) {
  switch (std::ranges::count(line.substr(0, line.find('\n')), '\t')) {
    case 6:
      return Layout{.separator = '\t',
                    .header = {"job type", "command", "steps flag", "needs data", "total steps",
                               "arrival", "scale factor"}};
    case 9:
      return Layout{.separator = '\t',
                    .header = {"job type", "command", "directory", "steps flag", "needs data",
                               "total steps", "scale factor", "priority", "SLO", "arrival"}};
    case 11:
      return Layout{
          .separator = '\t',
          .header = {"job type", "command", "directory", "steps flag", "needs data", "total steps",
                     "scale factor", "mode", "priority", "SLO", "duration", "arrival"}};
    default:
      return std::nullopt;
  }
}

/// Steps per second of jobs alone on one type of GPU.
class Throughputs {
 public:
  static Expected<Throughputs> read(const Source& source) {
    const Profile& profile = source.profiles.front();
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) {
      return depth <= kDeepest;
    };
    const Json all = Json::parse(profile.text, shallow, false);
    Throughputs throughputs;
    throughputs.type_ = source.profile_type.empty() ? "v100" : source.profile_type;
    const auto type = all.is_object() ? all.find(throughputs.type_) : all.end();
    if (type == all.end() || !type->is_object()) {
      return fail(ErrorCode::BadData,
                  profile.name + ": no throughputs for GPU type '" + throughputs.type_ + "'");
    }
    for (const auto& [job, entry] : type->items()) {
      const auto alone = entry.is_object() ? entry.find("null") : entry.end();
      if (alone == entry.end() || !alone->is_number()) continue;
      throughputs.rates_[job] = alone->get<double>();
    }
    return throughputs;
  }

  /// Nothing where the file has no rate.
  std::optional<Duration> time_of(std::string_view job_type, GpuCount gpus,
                                  std::int64_t steps) const {
    const auto found =
        rates_.find("('" + std::string(job_type) + "', " + std::to_string(gpus.raw()) + ")");
    if (found == rates_.end() || !(found->second > 0)) return std::nullopt;
    const double time = static_cast<double>(steps) / found->second;
    if (!(time <= kMostSeconds)) return std::nullopt;
    return Duration(std::llround(time * 1e6));
  }
  const std::string& type() const { return type_; }

 private:
  std::map<std::string, double> rates_;
  std::string type_;
};

struct GavelColumns {
  explicit GavelColumns(Columns& columns)
      : type(columns.need("job type")),
        steps(columns.need("total steps")),
        arrival(columns.need("arrival")),
        gpus(columns.need("scale factor")),
        duration(columns.find("duration")) {}

  std::size_t type, steps, arrival, gpus;
  std::optional<std::size_t> duration;
};

/// Rows whose job type has no throughput. Published traces have many of them, so that the first
/// alone would say too little: the refusal waits for the end and says how many there are.
struct WithoutRate {
  std::size_t count = 0;
  std::string first;

  Error error(std::size_t jobs, const Source& source) const {
    return {ErrorCode::BadData, first + "; " + std::to_string(count) + " of " +
                                    std::to_string(jobs) + " jobs in " + std::string(source.file) +
                                    " have none, --lenient skips them"};
  }
};

/// Nothing where the job type has no throughput.
std::optional<Duration> run_time(Row& row, const GavelColumns& columns,
                                 const Throughputs& throughputs, GpuCount gpus) {
  if (columns.duration) return row.duration(*columns.duration);
  const std::int64_t steps = row.integer(columns.steps, 0, kMostSteps);
  return throughputs.time_of(row.text(columns.type), gpus, steps);
}

}  // namespace

Expected<Trace> read_gavel(const Source& source) {
  const auto layout = layout_of(source.text);
  if (!layout) {
    return fail(ErrorCode::BadData,
                std::string(source.file) + ":1: expected 7, 10 or 12 fields with tabs between");
  }
  auto csv = open_table(source, *layout);
  if (!csv) return std::unexpected(csv.error());
  Columns find(*csv);
  const GavelColumns columns(find);
  Expected<Throughputs> throughputs;
  if (!columns.duration && source.profiles.empty()) {
    return fail(ErrorCode::InvalidArgument,
                std::string(source.file) +
                    ": has steps and no run times: --profiles names the file of throughputs");
  }
  if (!columns.duration) throughputs = Throughputs::read(source);
  if (!throughputs) return std::unexpected(throughputs.error());
  std::size_t number = 0;
  WithoutRate without;
  auto trace = read_jobs(*csv, source.bad_rows, [&](Row& row) {
    TraceJob job = whole_gpu_job(std::to_string(++number), row.gpus(columns.gpus));
    const GpuCount gpus = job.spec.request.gpu.count;
    job.submit = kStart + row.duration(columns.arrival);
    const auto time = run_time(row, columns, *throughputs, gpus);
    job.duration = time.value_or(Duration(0));
    job.model = row.text(columns.type);
    if (time || row.error()) return std::optional(std::move(job));
    const std::string expected = "a job type with a throughput on " + throughputs->type() +
                                 " at scale factor " + std::to_string(gpus.raw());
    if (source.bad_rows == BadRows::Skip) row.refuse(columns.type, expected);
    if (without.count++ == 0) without.first = csv->error(columns.type, expected).message;
    return std::optional(std::move(job));
  });
  const bool refused = source.bad_rows == BadRows::Refuse && without.count > 0;
  if (trace && refused) return std::unexpected(without.error(trace->jobs.size(), source));
  return trace;
}

bool is_gavel(std::string_view line) { return layout_of(line).has_value(); }

}  // namespace berth::trace
