// A workload as data: jobs with their true run times, in order of submission.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.hpp"
#include "core/error.hpp"
#include "core/job.hpp"
#include "core/time.hpp"

namespace berth::trace {

struct TraceJob {
  std::string name;      ///< Its id in the file.
  Instant submit;        ///< On the file's own clock.
  Duration duration{0};  ///< True run time, alone on what it asks for.
  JobSpec spec;
};

/// Jobs by submit time; those of one instant in file order.
struct Trace {
  std::vector<TraceJob> jobs;
};

/// Reads a trace in a named format from `text`; `file` is for messages only.
/// Errors: NotFound for an unknown format; BadData naming file, line, column, value and what was
/// expected.
Expected<Trace> read(std::string_view format, std::string_view text, std::string_view file);

/// The Tiresias simulator's CSV: job_id, num_gpu, submit_time, duration in whole seconds; other
/// columns are ignored. A fractional duration is cut to whole seconds, as the peer does.
Expected<Trace> read_tiresias(std::string_view text, std::string_view file);

/// `NxG`: one switch, N nodes of G GPUs; `SxNxG`: S switches of N nodes.
/// Errors: InvalidArgument naming the text; every number from 1 to 1,000,000 and the product too.
Expected<Cluster> parse_cluster(std::string_view text);

/// The Tiresias simulator's cluster file: num_switch, num_node_p_switch, num_gpu_p_node; the
/// columns for host cores and memory are read by the peer's placements only and ignored.
Expected<Cluster> read_tiresias_cluster(std::string_view text, std::string_view file);

}  // namespace berth::trace
