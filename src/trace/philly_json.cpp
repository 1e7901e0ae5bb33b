// Philly's log as Microsoft publishes it, cluster_job_log: a JSON array with an object for each
// job, and in that its attempts with the GPUs of each.
//
// A job runs as long as its attempts together, and asks for the GPUs of the last of them that had
// any. Jobs are read one by one, so that the memory is that of the trace, not that of the JSON.
#include <nlohmann/json.hpp>

#include "trace/name_table.hpp"
#include "trace/rows.hpp"

namespace berth::trace {

namespace {

using Json = nlohmann::json;

constexpr int kMostDepth = 8;  ///< Of a log: the names of GPUs are at 6.

/// The text under a key; "" for a number, null, `None` and what is not there.
std::string_view text_under(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  const std::string_view text = found->get_ref<const std::string&>();
  return text == "None" ? std::string_view() : text;
}

/// The elements of an array under a key; none where there is no array.
std::span<const Json> list_under(const Json& object, std::string_view key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (found == object.end() || !found->is_array()) return {};
  return found->get_ref<const Json::array_t&>();
}

std::int64_t gpus_of(const Json& attempt) {
  std::size_t gpus = 0;
  for (const Json& machine : list_under(attempt, "detail"))
    gpus += list_under(machine, "gpus").size();
  return static_cast<std::int64_t>(gpus);
}

class PhillyLog {
 public:
  explicit PhillyLog(const Source& source) : source_(source) {}

  /// Takes on a job, unless an error was met before.
  void add(const Json& object) {
    if (error_) return;
    ++number_;
    left_out_as_ = {};
    auto job = job_of_log(object);
    const std::size_t before = names_.size();
    if (wrong_.empty() && job && names_.number(job->name) < before)
      wrong_ = "is in the log already";
    if (!wrong_.empty()) return refuse(object);
    if (!job) return count_left_out(trace_, left_out_as_);
    trace_.jobs.push_back(std::move(*job));
  }

  Expected<Trace> done() && {
    if (error_) return std::unexpected(*std::move(error_));
    number_users(trace_);
    std::ranges::stable_sort(trace_.jobs, {}, &TraceJob::submit);
    start_at_origin(trace_);
    return std::move(trace_);
  }

 private:
  void refuse(const Json& object) {
    std::string name(object.is_object() ? text_under(object, "jobid") : std::string_view());
    if (name.empty()) name = std::to_string(number_);
    const std::string message = std::string(source_.file) + ": job '" + shown(name) + "' " + wrong_;
    wrong_.clear();
    if (source_.bad_rows == BadRows::Refuse) error_ = Error{ErrorCode::BadData, message};
    if (trace_.skipped++ == 0) trace_.first_skipped = message;
  }

  /// Nothing for a time that is not said.
  std::optional<Instant> time_under(const Json& object, std::string_view key) {
    const std::string_view text = text_under(object, key);
    if (text.empty()) return std::nullopt;
    const auto at = source_.time_format.empty() ? calendar_instant(text)
                                                : instant_by_format(text, source_.time_format);
    if (!at && wrong_.empty()) {
      wrong_ = "has the " + std::string(key) + " '" + shown(text) +
               "', expected a time such as 2017-10-07 01:11:39";
    }
    return at;
  }

  std::nullopt_t leave_out(std::string_view what) {
    left_out_as_ = what;
    return std::nullopt;
  }

  /// How long its attempts took together; nothing for a job that is not over.
  std::optional<Duration> time_of_attempts(std::span<const Json> attempts) {
    Duration total(0);
    bool is_over = false;
    for (const Json& attempt : attempts) {
      const auto start = time_under(attempt, "start_time");
      const auto end = time_under(attempt, "end_time");
      is_over = end.has_value();
      if (!start || !end) continue;
      const bool is_fine = *start <= *end && *end <= *start + kCentury - total;
      if (!is_fine && wrong_.empty()) wrong_ = "has attempts of less than no time or of a century";
      total += is_fine ? *end - *start : Duration(0);
    }
    return is_over ? std::optional(total) : std::nullopt;
  }

  std::optional<TraceJob> job_of_log(const Json& object) {
    const std::string_view name = object.is_object() ? text_under(object, "jobid") : "";
    if (name.empty()) wrong_ = "has no jobid";
    const auto attempts = list_under(object, "attempts");
    if (attempts.empty()) return leave_out(kNeverRan);
    for (const Json& attempt : attempts) {
      if (!attempt.is_object()) wrong_ = "has an attempt that is no object";
    }
    if (!wrong_.empty()) return std::nullopt;
    const auto ran = time_of_attempts(attempts);
    if (!ran) return leave_out(kNotEnded);
    std::int64_t gpus = 0;
    for (const Json& attempt : attempts) gpus = gpus_of(attempt) > 0 ? gpus_of(attempt) : gpus;
    if (gpus == 0) return leave_out(kWithoutGpu);
    if (*ran == Duration(0)) return leave_out(kNeverRan);
    TraceJob job = whole_gpu_job(std::string(name), GpuCount(std::min(gpus, kMostGpus)));
    const auto submit = time_under(object, "submitted_time");
    if (!submit && wrong_.empty()) wrong_ = "has no submitted_time";
    job.submit = submit.value_or(kStart);
    job.duration = *ran;
    job.user = text_under(object, "user");
    job.spec.group = std::string(text_under(object, "vc"));
    return job;
  }

  const Source& source_;
  Trace trace_;
  NameTable names_;
  std::size_t number_ = 0;
  std::string wrong_;  ///< With the job that is read.
  std::string_view left_out_as_;
  std::optional<Error> error_;
};

}  // namespace

bool is_philly_json(std::string_view line) { return line.starts_with('['); }

Expected<Trace> read_philly_json(const Source& source) {
  if (!source.columns.empty()) {
    return fail(ErrorCode::InvalidArgument,
                "--columns: " + std::string(source.file) + " is JSON, which has no columns");
  }
  PhillyLog log(source);
  bool is_shallow = true;
  const auto take = [&](int depth, Json::parse_event_t event, Json& parsed) {
    is_shallow = is_shallow && depth <= kMostDepth;
    if (depth != 1 || event != Json::parse_event_t::object_end) return depth <= kMostDepth;
    log.add(parsed);
    return false;  // its memory is given back
  };
  const Json all = Json::parse(source.text, take, false);
  if (all.is_discarded() || !all.is_array() || !is_shallow) {
    return fail(ErrorCode::BadData, std::string(source.file) +
                                        ": is not the JSON of Philly's cluster_job_log, or is cut "
                                        "short: expected an array of objects with jobid, "
                                        "submitted_time and attempts");
  }
  return std::move(log).done();
}

}  // namespace berth::trace
