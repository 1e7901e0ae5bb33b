// The common part of all readers of traces: they find columns, read rows one by one, and stop at a
// bad row or skip it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.hpp"
#include "trace/csv.hpp"
#include "trace/formats.hpp"
#include "trace/trace.hpp"

namespace berth::trace {

inline constexpr std::int64_t kMostGpus = 1'000'000;  ///< Of a simulated cluster.
inline constexpr std::int64_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kMostCores = limits::kMostCores.raw();
inline constexpr Bytes kUnknownCard{std::int64_t{24} << 30};  ///< A GPU whose size is not said.

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
  const std::optional<Error>& error() const { return error_; }

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
  void refuse(std::size_t column, std::string_view expected);

  const std::optional<Error>& error() const { return error_; }

 private:
  template <class T>
  T value_of(Expected<T> value);

  const Csv& csv_;
  std::optional<Error> error_;
};

/// A row's job; nothing for a row that is none by the format's own rules.
using JobOf = std::function<std::optional<TraceJob>(Row&)>;

/// Every row as a job, by submit time, with users numbered. A row whose job stands in one before it
/// is a bad one. Errors: BadData for the first bad row unless they are skipped; for more than
/// kMostJobs.
Expected<Trace> read_jobs(Csv& csv, BadRows bad_rows, const JobOf& job_of);

/// Numbers users from 1 as they appear.
void number_users(Trace& trace);

/// A job that has its GPUs, if any, to itself.
TraceJob whole_gpu_job(std::string name, GpuCount gpus);

/// `2017-10-09 07:01:55`, or with a T between, as an instant that counts from 1970. Nothing for
/// anything else.
std::optional<Instant> calendar_instant(std::string_view text);

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
