#include "trace/rows.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <map>

#include "core/base/suggest.hpp"

namespace berth::trace {

namespace {

/// The number of exactly these digits; nothing for any other character.
std::optional<std::int32_t> digits(std::string_view text) {
  std::int32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<Instant> instant_of(std::chrono::year_month_day day, Duration time_of_day) {
  if (!day.ok()) return std::nullopt;
  const std::chrono::days since_1970 = std::chrono::sys_days(day).time_since_epoch();
  return Instant(std::chrono::duration_cast<Duration>(since_1970) + time_of_day);
}

}  // namespace

std::optional<std::size_t> Columns::find(std::string_view name) {
  looked_for_.emplace_back(name);
  return csv_.find(name);
}

std::string Columns::not_read() const {
  std::vector<std::string> missing;
  std::ranges::copy_if(looked_for_, std::back_inserter(missing),
                       [&](const std::string& name) { return !csv_.find(name); });
  std::string text;
  for (const std::string_view name : csv_.header()) {
    if (name.empty() || std::ranges::find(looked_for_, name) != looked_for_.end()) continue;
    // `vram` for `vram_bytes` is farther off than a slip of a finger.
    const auto longer = std::ranges::find_if(
        missing, [&](const std::string& known) { return known.starts_with(name); });
    const std::string meant = longer != missing.end() ? *longer : nearest(name, missing);
    text += (text.empty() ? "" : ", ") + shown(name) + (meant.empty() ? "" : " (" + meant + "?)");
  }
  return text;
}

std::size_t Columns::need(std::string_view name) {
  looked_for_.emplace_back(name);
  const auto found = csv_.column(name);
  if (found) return *found;
  if (!error_) error_ = found.error();
  return 0;
}

std::size_t Columns::need(std::string_view name, std::string_view or_else) {
  const auto other = csv_.find(or_else);
  return other && !csv_.find(name) ? *other : need(name);
}

std::string_view Row::text(std::optional<std::size_t> column) const {
  return column ? csv_.field(*column) : std::string_view();
}

template <class T>
T Row::value_of(Expected<T> value) {
  if (value) return *value;
  if (!error_) error_ = std::move(value.error());
  return T{};
}

std::string Row::name(std::size_t column) {
  const std::string_view text = csv_.field(column);
  const bool controls = std::ranges::any_of(text, [](char c) { return c >= 0 && c < ' '; });
  if (controls) refuse(column, "a name without control characters");
  if (text.empty()) refuse(column, "a name");
  return std::string(text);
}

std::int64_t Row::integer(std::size_t column, std::int64_t low, std::int64_t high) {
  return value_of(csv_.integer(column, low, high));
}

std::int64_t Row::millionths(std::size_t column, std::int64_t most) {
  return value_of(csv_.millionths(column, most));
}

GpuCount Row::gpus(std::size_t column, std::int64_t least) {
  return GpuCount(integer(column, least, kMostGpus));
}

Duration Row::duration(std::size_t column, const TimeUnit& unit) {
  return value_of(csv_.duration(column, unit));
}

void Row::refuse(std::size_t column, std::string_view expected) {
  if (!error_) error_ = csv_.error(column, expected);
}

void number_users(Trace& trace) {
  std::map<std::string_view, UserId> numbers;
  for (TraceJob& job : trace.jobs) {
    if (job.user.empty()) continue;
    const UserId next(static_cast<std::uint32_t>(numbers.size() + 1));
    job.spec.user = numbers.try_emplace(job.user, next).first->second;
  }
}

namespace {

/// So that 9 comes before 10: numbered jobs, the most usual, then come in order.
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

/// The line on which each job stands: a name is a job's own.
class NamesSeen {
 public:
  std::optional<Error> add(const TraceJob& job, const Csv& csv) {
    const std::size_t before = lines_.size();
    const auto first = lines_.try_emplace(lines_.end(), job.name, csv.line_number());
    if (lines_.size() > before) return std::nullopt;
    return Error{ErrorCode::BadData, csv.place() + ": job '" + shown(job.name) + "' is in line " +
                                         std::to_string(first->second) + " already"};
  }

 private:
  std::map<std::string, std::size_t, ShorterFirst> lines_;
};

}  // namespace

Expected<Trace> read_jobs(Csv& csv, BadRows bad_rows, const JobOf& job_of) {
  Trace trace;
  NamesSeen names;
  for (;;) {
    auto more = csv.next();
    if (more && !*more) break;
    Row row(csv);
    auto job = more ? job_of(row) : std::optional<TraceJob>();
    std::optional<Error> error = more ? row.error() : std::move(more.error());
    if (!error && job) error = names.add(*job, csv);
    if (error && bad_rows == BadRows::Refuse) return std::unexpected(*error);
    if (error) {
      if (trace.skipped++ == 0) trace.first_skipped = error->message;
    } else if (job && trace.jobs.size() == kMostJobs) {
      return fail(ErrorCode::BadData,
                  csv.place() + ": more than " + std::to_string(kMostJobs) + " jobs");
    } else if (job) {
      trace.jobs.push_back(std::move(*job));
    } else {
      ++trace.left_out;
    }
  }
  number_users(trace);
  if (!std::ranges::is_sorted(trace.jobs, {}, &TraceJob::submit)) {  // to sort moves every job
    std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submit);
  }
  return trace;
}

Expected<void> add_node(Cluster& cluster, const NodeShape& shape, std::string_view file) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::BadData, std::string(file) + ": " + what);
  };
  if (cluster.nodes().size() >= kMostGpus) return refuse("more than 1,000,000 nodes");
  if (cluster.gpu_count() + GpuCount(shape.gpus) > GpuCount(kMostGpus)) {
    return refuse("more than 1,000,000 GPUs");
  }
  const auto types = cluster.type_names();
  const bool known = std::ranges::find(types, shape.type) != types.end();
  if (shape.gpus > 0 && !known && types.size() + 1 >= limits::kMostTypes) {
    return refuse("more than 63 types of GPU");
  }
  cluster.add_node(shape);
  return {};
}

Expected<Cluster> read_nodes(Csv& csv, const NodeOf& node_of) {
  Cluster cluster;
  cluster.add_switch();
  for (;;) {
    const auto more = csv.next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return cluster;
    Row row(csv);
    const NodeShape shape = node_of(row);
    if (row.error()) return std::unexpected(*row.error());
    if (auto added = add_node(cluster, shape, csv.file()); !added) {
      return std::unexpected(added.error());
    }
  }
}

TraceJob whole_gpu_job(std::string name, GpuCount gpus) {
  TraceJob job{.name = std::move(name), .submit = kStart, .duration = Duration(0), .spec = {}};
  job.spec.request.gpu.count = gpus;
  if (gpus > GpuCount(0)) job.spec.request.gpu.sharing = Sharing::Alone;
  return job;
}

std::optional<Instant> calendar_instant(std::string_view text) {
  constexpr std::string_view shape = "dddd-dd-dd dd:dd:dd";
  if (text.size() != shape.size()) return std::nullopt;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool right = shape[i] == 'd' || shape[i] == text[i] || (i == 10 && text[i] == 'T');
    if (!right) return std::nullopt;
  }
  const auto part = [&](std::size_t from, std::size_t size) {
    return digits(text.substr(from, size)).value_or(-1);
  };
  const std::int32_t hour = part(11, 2), minute = part(14, 2), second = part(17, 2);
  const bool known = part(0, 4) >= 0 && part(5, 2) >= 0 && part(8, 2) >= 0;
  if (!known || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) {
    return std::nullopt;
  }
  const std::chrono::year_month_day day(std::chrono::year(part(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(part(8, 2))));
  return instant_of(day, hours(hour) + minutes(minute) + seconds(second));
}

std::vector<std::string> names_between(std::string_view text, char separator) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

std::string plain(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe, [](char c) { return c == ',' || static_cast<unsigned char>(c) < ' '; }, '_');
  return safe;
}

void start_at_origin(Trace& trace) {
  if (trace.jobs.empty()) return;
  const Duration origin = trace.jobs.front().submit - kStart;
  for (TraceJob& job : trace.jobs) {
    job.submit -= origin;
    if (job.spec.deadline != kNever) job.spec.deadline -= origin;
  }
}

}  // namespace berth::trace
