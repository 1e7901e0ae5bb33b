// A workload as data: jobs with their true run times, in order of submission.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/cluster.hpp"
#include "core/job.hpp"
#include "core/knowledge/stages.hpp"
#include "trace/use_curve.hpp"

namespace berth {
class Speeds;
}

namespace berth::trace {

/// The duty of a job that does not state it.
inline constexpr GpuMilli kUnstatedDuty{-1};

struct TraceJob {
  std::string name;      ///< Its id in the file.
  Instant submit;        ///< On the file's own clock.
  Duration duration{0};  ///< True run time, alone on what it asks for.
  JobSpec spec;
  std::string user = {};   ///< Its user, or group if the file has those; "" if unknown.
  std::string model = {};  ///< Its program; "" if unknown.
  std::int64_t batch = 0;  ///< Samples of a step, on all its GPUs together; 0 for not said.
  Duration think{0};       ///< Between the end of those it comes after and its submission.
  std::vector<std::string> after = {};  ///< Jobs by name that it comes after, where that is said.
  std::vector<std::string> types = {};  ///< GPU types it accepts; none: any. See accept_types().
  /// The part of its run time alone in which it has a kernel on each of its GPUs; 1000 is all.
  GpuMilli duty = kUnstatedDuty;
  Iteration iteration = {};
  UseCurve use = {};  ///< Empty: it uses the GPU memory that it asks for.
};

/// Rows of one kind that are no jobs by the format's own rules: doc/traces.md.
struct LeftOut {
  std::string_view what;  ///< `jobs that have not ended`; a literal.
  std::size_t rows = 0;
};

/// Jobs by submit time; those of one instant in file order. Users are numbered from 1 in file
/// order; 0 is for jobs that name none.
struct Trace {
  std::vector<TraceJob> jobs;
  std::size_t left_out = 0;                ///< The rows of `left_out_by`, all together.
  std::vector<LeftOut> left_out_by = {};   ///< In the order in which the file has the first.
  std::size_t skipped = 0;                 ///< Bad rows, where they are skipped.
  std::string first_skipped = {};          ///< What was wrong with the first of them.
  std::vector<std::string> warnings = {};  ///< Of what is read as it stands, and may not be meant.
};

/// Why rows of several formats are left out.
inline constexpr std::string_view kNotEnded = "jobs that have not ended";
inline constexpr std::string_view kNeverRan = "jobs that never ran";
inline constexpr std::string_view kWithoutGpu = "jobs without a GPU";

/// Counts one more row that is left out.
void count_left_out(Trace& trace, std::string_view what);

/// The most jobs of one trace: so many fit the memory of most machines.
inline constexpr std::size_t kMostJobs = 10'000'000;

/// Memory of a job that shares a GPU in a trace that does not say how much: so little that only the
/// compute share decides.
inline constexpr Bytes kUnstated{std::int64_t{1} << 20};

/// Turns the names of GPU types into this cluster's. A job keeps those the cluster has; one that
/// accepts none of them can never start. Errors: Conflict if the cluster has 64 types.
Expected<void> accept_types(Trace& trace, const Cluster& cluster);

/// Takes from each job the types of this cluster on which these speeds say that it cannot run; one
/// that has none left can never start. Requires: accept_types() was called. Returns: how many jobs
/// lost a type.
std::size_t keep_off_types(Trace& trace, const Cluster& cluster, const Speeds& speeds);

/// Reads a trace in a format of formats.hpp from `text`; `file` is for messages only.
/// Errors: NotFound for an unknown format; BadData naming file, line, column, value and what was
/// expected.
Expected<Trace> read(std::string_view format, std::string_view text, std::string_view file);

/// The Tiresias simulator's CSV: job_id, num_gpu, submit_time, duration in whole seconds; other
/// columns are ignored. A fractional duration is cut to whole seconds, as the peer does.
Expected<Trace> read_tiresias(std::string_view text, std::string_view file);

/// One number to a line after a line with the column's name: past service in GPU-seconds, as the
/// Tiresias simulator's samples. Errors: BadData naming file and line; every number 0 to 2^40.
Expected<std::vector<std::int64_t>> read_samples(std::string_view text, std::string_view file);

/// Whether a text is of the form that parse_cluster() reads, and not a file's name.
bool is_shape(std::string_view text);
/// `NxG`: one switch, N nodes of G GPUs; `SxNxG`: S switches of N nodes; either with `x80G`, the
/// memory of a GPU.
/// Errors: InvalidArgument naming the text; every number from 1 to 1,000,000 and the product too.
Expected<Cluster> parse_cluster(std::string_view text);

/// The Tiresias simulator's cluster file: num_switch, num_node_p_switch, num_gpu_p_node; the
/// columns for host cores and memory are read by the peer's placements only and ignored.
Expected<Cluster> read_tiresias_cluster(std::string_view text, std::string_view file);

}  // namespace berth::trace
