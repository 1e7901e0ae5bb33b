#include "trace/rows.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/suggest.hpp"
#include "trace/name_table.hpp"

namespace berth::trace {

std::optional<std::size_t> Columns::find(std::string_view name) {
  looked_for_.emplace_back(name);
  return csv_.find(name);
}

std::string Columns::not_read() const {
  std::vector<std::string> missing;
  std::ranges::copy_if(looked_for_, std::back_inserter(missing),
                       [&](const std::string& name) { return !csv_.find(name); });
  std::string text;
  const auto is_read = [&](std::string_view name) {
    return std::ranges::any_of(
        looked_for_, [&](const std::string& known) { return csv_.name_in_file(known) == name; });
  };
  for (const std::string_view name : csv_.header()) {
    if (name.empty() || is_read(name)) continue;
    // `vram` for `vram_bytes` is farther off than a slip of a finger.
    const auto longer = std::ranges::find_if(
        missing, [&](const std::string& known) { return known.starts_with(name); });
    const std::string meant = longer != missing.end() ? *longer : nearest(name, missing);
    text += (text.empty() ? "" : ", ") + shown(name) + (meant.empty() ? "" : " (" + meant + "?)");
  }
  return text;
}

std::optional<Error> Columns::error() const {
  for (const ColumnName& column : csv_.renamed()) {
    if (std::ranges::find(looked_for_, column.known) != looked_for_.end()) continue;
    std::string names;
    for (const std::string& name : looked_for_) names += (names.empty() ? "" : ", ") + name;
    const std::string near = nearest(column.known, looked_for_);
    return Error{ErrorCode::InvalidArgument,
                 "--columns: '" + shown(column.known) + "' is no column of this format" +
                     (near.empty() ? "" : " (" + near + "?)") + "; valid columns: " + names};
  }
  return error_;
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

Instant Row::calendar(std::size_t column, std::string_view example) {
  const auto at = csv_.calendar(column);
  if (!at) refuse(column, csv_.expected_time(example));
  return at.value_or(kStart);
}

Duration Row::between(Instant start, Instant end, std::size_t end_column) {
  if (end < start) refuse(end_column, "a time not before the start");
  if (end > start + kCentury) refuse(end_column, "a time within a century of the start");
  return error_ ? Duration(0) : end - start;
}

bool Row::is_calendar(std::size_t column) const {
  return csv_.has_time_format() || csv_.calendar(column);
}

void Row::refuse(std::size_t column, std::string_view expected) {
  if (!error_) error_ = csv_.error(column, expected);
}

std::nullopt_t Row::leave_out(std::string_view what) {
  left_out_as_ = what;
  return std::nullopt;
}

void count_left_out(Trace& trace, std::string_view what) {
  if (what.empty()) return;
  ++trace.left_out;
  auto found = std::ranges::find(trace.left_out_by, what, &LeftOut::what);
  if (found == trace.left_out_by.end()) found = trace.left_out_by.insert(found, {what, 0});
  ++found->rows;
}

void number_users(Trace& trace) {
  NameTable users;
  for (TraceJob& job : trace.jobs) {
    if (job.user.empty()) continue;
    job.spec.user = UserId(static_cast<std::uint32_t>(users.number(job.user) + 1));
  }
}

namespace {

/// The line on which each job stands: a name is a job's own.
class NamesSeen {
 public:
  std::optional<Error> add(const TraceJob& job, const Csv& csv) {
    const std::size_t number = names_.number(job.name);
    if (number == lines_.size()) {
      lines_.push_back(csv.line_number());
      return std::nullopt;
    }
    return Error{ErrorCode::BadData, csv.place() + ": job '" + shown(job.name) + "' is in line " +
                                         std::to_string(lines_[number]) + " already"};
  }

 private:
  NameTable names_;
  std::vector<std::size_t> lines_;
};

}  // namespace

Expected<Csv> open_table(const Source& source, Layout layout) {
  layout.renamed = source.columns;
  layout.time_format = source.time_format;
  return Csv::open(source.text, source.file, layout);
}

Expected<Trace> read_jobs(Csv& csv, BadRows bad_rows, const JobOf& job_of, JobNames job_names) {
  Trace trace;
  trace.jobs.reserve(std::min(csv.most_rows_left(), kMostJobs));  // to grow it moves every job
  NamesSeen names;
  for (;;) {
    auto more = csv.next();
    if (more && !*more) break;
    Row row(csv);
    auto job = more ? job_of(row) : std::optional<TraceJob>();
    std::optional<Error> error = more ? row.error() : std::move(more.error());
    if (!error && job && job_names == JobNames::Once) error = names.add(*job, csv);
    if (error && bad_rows == BadRows::Refuse) return std::unexpected(*error);
    if (error) {
      if (trace.skipped++ == 0) trace.first_skipped = error->message;
    } else if (job && trace.jobs.size() == kMostJobs) {
      return fail(ErrorCode::BadData,
                  csv.place() + ": more than " + std::to_string(kMostJobs) + " jobs");
    } else if (job) {
      trace.jobs.push_back(std::move(*job));
    } else {
      count_left_out(trace, row.left_out_as());
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
