// The common part of all readers of traces: they find columns, read rows one by one, and stop at a
// bad row or skip it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.hpp"
#include "trace/calendar.hpp"
#include "trace/csv.hpp"
#include "trace/formats.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

inline constexpr std::int64_t kMostGpus = 1'000'000;  ///< Of a simulated cluster.
inline constexpr std::int64_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kMostCores = limits::kMostCores.raw();
inline constexpr Bytes kUnknownCard{std::int64_t{24} << 30};  ///< A GPU whose size is not said.

/// Slots of a GPU that is shared by thousandths: one for each, so that the shares bind first.
inline constexpr std::uint16_t kSlotsByShare = 1000;

/// Of millionths of a GiB, cut to MiB; at most 2^20 GiB.
inline Bytes gibibytes(std::int64_t millionths) {
  return Bytes((millionths * 1024 / 1'000'000) << 20);
}

/// `profiles/bert.csv`: bert.csv.
inline std::string_view without_folders(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

/// Finds columns by name; the first that is missing is the error.
class Columns {
 public:
  explicit Columns(const Csv& csv) : csv_(csv) {}

  std::size_t need(std::string_view name);
  /// Under whichever name the header has it; the first is the one that is missed.
  std::size_t need(std::string_view name, std::string_view or_else);
  std::optional<std::size_t> find(std::string_view name);
  /// `vram (vram_bytes?), note`: the header's other columns, each with the nearest of those that
  /// were looked for and are not there; "": none.
  std::string not_read() const;
  /// The first that is missing, or one of --columns that was not looked for. Requires: all were.
  std::optional<Error> error() const;

 private:
  const Csv& csv_;
  std::vector<std::string> looked_for_;
  std::optional<Error> error_;
};

/// The values of one row. The first that is not as expected is the row's error; what is returned in
/// its place is of no use.
class Row {
 public:
  explicit Row(const Csv& csv) : csv_(csv) {}

  std::string_view text(std::size_t column) const { return csv_.field(column); }
  /// "" where there is no such column.
  std::string_view text(std::optional<std::size_t> column) const;
  /// True where there is no such column too.
  bool is_missing(std::optional<std::size_t> column) const {
    return !column || csv_.is_missing(*column);
  }
  std::string name(std::size_t column);  ///< Not empty, no control characters.
  std::int64_t integer(std::size_t column, std::int64_t low, std::int64_t high);
  std::int64_t millionths(std::size_t column, std::int64_t most);
  GpuCount gpus(std::size_t column, std::int64_t least = 1);
  Duration duration(std::size_t column, const TimeUnit& unit = kSeconds);
  /// A time of the calendar; the example is one of the format's own.
  Instant calendar(std::size_t column, std::string_view example);
  /// From a start to the end that a column has; an end before it, or a century later, is refused.
  Duration between(Instant start, Instant end, std::size_t end_column);
  /// True if a table without a time format has such a time there, or there is a format.
  bool is_calendar(std::size_t column) const;
  void refuse(std::size_t column, std::string_view expected);
  /// Says what kind of row it is that is no job, a literal; "": none that anybody misses.
  std::nullopt_t leave_out(std::string_view what);

  const std::optional<Error>& error() const { return error_; }
  std::string_view left_out_as() const { return left_out_as_; }

 private:
  template <class T>
  T value_of(Expected<T> value);

  const Csv& csv_;
  std::optional<Error> error_;
  std::string_view left_out_as_;
};

/// Calls take(Row&) for every row of a table, until one is bad.
template <class Take>
Expected<void> each_row(Csv& csv, Take take) {
  while (true) {
    const auto more = csv.next();
    if (!more) return std::unexpected(more.error());
    if (!*more) return {};
    Row row(csv);
    take(row);
    if (row.error()) return std::unexpected(*row.error());
  }
}

/// The table of a trace, with the names that --columns gives.
Expected<Csv> open_table(const Source& source, Layout layout = {});

/// A row's job; nothing, after leave_out(), for a row that is none by the format's own rules.
using JobOf = std::function<std::optional<TraceJob>(Row&)>;

/// Whether a name is one row's own, or several rows are of one job.
enum class JobNames : std::uint8_t { Once, Again };

/// Every row as a job, by submit time, with users numbered. A row whose job stands in one before it
/// is a bad one, if names stand once. Errors: BadData for the first bad row unless those are
/// skipped; for more than kMostJobs.
Expected<Trace> read_jobs(Csv& csv, BadRows bad_rows, const JobOf& job_of,
                          JobNames job_names = JobNames::Once);

/// Numbers users from 1 as they appear.
void number_users(Trace& trace);

/// A job that has its GPUs, if any, to itself.
TraceJob whole_gpu_job(std::string name, GpuCount gpus);

/// A row's node.
using NodeOf = std::function<NodeShape(Row&)>;

/// One switch with a node for every row. Errors: BadData for the first bad row, and for more GPUs
/// or types of them than a cluster can have.
Expected<Cluster> read_nodes(Csv& csv, const NodeOf& node_of);

/// Adds a node. Errors: BadData naming the file for more GPUs or types than a cluster can have.
Expected<void> add_node(Cluster& cluster, const NodeShape& shape, std::string_view file);

/// What stands between separators, without what is empty: `T4|P100`.
std::vector<std::string> names_between(std::string_view text, char separator);

/// A text that is to stand in a column: there is no quoting, so what separates is replaced.
std::string plain(std::string_view text);

/// Moves every time so that the first job is submitted at the origin: for clocks of the calendar.
void start_at_origin(Trace& trace);

}  // namespace berth::trace
