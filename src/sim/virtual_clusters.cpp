#include "sim/virtual_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/heading.hpp"
#include "sim/spread.hpp"
#include "trace/csv.hpp"

namespace berth::sim {

namespace {

constexpr std::uint64_t kStride = 0x9E3779B97F4A7C15;  ///< Between the seeds of two parts.

/// A virtual cluster as a trace and a cluster by themselves.
struct Part {
  trace::Trace trace;
  std::vector<std::size_t> places;  ///< Of its jobs in the whole trace.
  Cluster cluster;
};

Cluster nodes_from(const Cluster& whole, std::uint32_t first, std::uint32_t count) {
  Cluster cluster;
  for (std::uint32_t i = first; i < first + count; ++i) {
    const NodeSpec& node = whole.node(NodeId(i));
    const bool is_same = i > first && whole.node(NodeId(i - 1)).switch_id == node.switch_id;
    if (!is_same) cluster.add_switch();
    cluster.add_node(whole.shape_of(NodeId(i)));
  }
  return cluster;
}

Part part_of(const trace::Trace& trace, const std::string& user, Cluster cluster) {
  Part part{.trace = {}, .places = {}, .cluster = std::move(cluster)};
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    if (trace.jobs[i].user != user) continue;
    part.trace.jobs.push_back(trace.jobs[i]);
    part.places.push_back(i);
  }
  return part;
}

void add(Use& sum, const Use& part) {
  sum.allocated += part.allocated;
  sum.busy += part.busy;
  sum.tenancy += part.tenancy;
  sum.kernels += part.kernels;
  sum.held += part.held;
}

/// Puts a part's run where it belongs in the whole one.
class Merge {
 public:
  Merge(const trace::Trace& trace, const Options& options) : trace_(trace) {
    whole_.jobs.resize(trace.jobs.size());
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) whole_.jobs[i].job = i;
    whole_.is_modelled = options.is_modelled();
    whole_.is_perfect = options.is_perfect();
    whole_.lacks_memory = options.memory.is_on;
    whole_.has_faults = options.faults.is_on();
    whole_.measured = options.measured;
    whole_.arrivals = *options.arrivals;
  }

  void add_run(const Part& part, Result run, NodeId first_node, GpuId first_gpu) {
    const auto moved = [&](std::vector<GpuId> gpus) {
      for (GpuId& gpu : gpus) gpu = GpuId(gpu.value() + first_gpu.value());
      return gpus;
    };
    for (JobResult& job : run.jobs) {
      job.job = part.places[job.job];
      job.gpus = moved(std::move(job.gpus));
      job.host = NodeId(job.host.value() + first_node.value());
      whole_.jobs[job.job] = std::move(job);
    }
    for (Stretch& stretch : run.stretches) {
      stretch.job = part.places[stretch.job];
      stretch.gpus = moved(std::move(stretch.gpus));
      whole_.stretches.push_back(std::move(stretch));
    }
    add(whole_.use, run.use);
    add(whole_.arriving, run.arriving);
    end_ = std::max(end_, later(part.trace.jobs.front().submit, seconds_of(run.use)));
    whole_.is_modelled = whole_.is_modelled || run.is_modelled;
    whole_.is_perfect = whole_.is_perfect && run.is_perfect;
    whole_.lacks_memory = whole_.lacks_memory || run.lacks_memory;
    whole_.knows_loads = whole_.knows_loads || run.knows_loads;
    whole_.steps += run.steps;
    whole_.dropped += run.dropped;
    if (run.suspended) {
      whole_.suspended = std::max(whole_.suspended.value_or(Bytes(0)), *run.suspended);
    }
    if (run.cost) whole_.cost = whole_.cost.value_or(0) + *run.cost;
    if (!run.waits) return;
    if (!whole_.waits) whole_.waits.emplace();
    for (std::size_t i = 0; i < run.waits->size(); ++i) (*whole_.waits)[i] += (*run.waits)[i];
  }

  void reject(std::size_t job) {
    whole_.jobs[job].refused = "job " + trace_.jobs[job].name + ": its user '" +
                               trace_.jobs[job].user + "' has no virtual cluster";
  }

  Result done() {
    std::ranges::stable_sort(whole_.stretches, {}, &Stretch::from);
    const Window& arrivals = whole_.arrivals;
    whole_.use.seconds = in_seconds(end_ - trace_.jobs.front().submit);
    whole_.arriving.seconds =
        in_seconds(std::max(Duration(0), std::min(end_, arrivals.to) - arrivals.from));
    return std::move(whole_);
  }

 private:
  static Duration seconds_of(const Use& use) { return Duration(std::llround(use.seconds * 1e6)); }

  const trace::Trace& trace_;
  Result whole_;
  Instant end_ = kStart;
};

Expected<void> check_nodes(std::span<const VirtualCluster> parts, const Cluster& cluster) {
  std::uint64_t nodes = 0;
  for (const VirtualCluster& part : parts) nodes += part.nodes;
  if (nodes <= cluster.nodes().size()) return {};
  return fail(ErrorCode::InvalidArgument, "the virtual clusters have " + std::to_string(nodes) +
                                              " nodes, the cluster has " +
                                              std::to_string(cluster.nodes().size()));
}

/// With the types of GPU that a part's jobs accept numbered as its own cluster does.
Expected<void> number_types(Part& part, const Options& options) {
  if (auto done = trace::accept_types(part.trace, part.cluster); !done) return done;
  trace::keep_off_types(part.trace, part.cluster, options.rates.speeds);
  return {};
}

}  // namespace

Expected<std::vector<VirtualCluster>> read_virtual_clusters(std::string_view text,
                                                            std::string_view file) {
  constexpr std::int64_t kMostNodes = 1'000'000;
  auto csv = trace::Csv::open(text, file, {.header = {"virtual cluster", "nodes"}});
  if (!csv) return std::unexpected(csv.error());
  std::vector<VirtualCluster> parts;
  std::set<std::string, std::less<>> names;
  for (bool is_first = true;; is_first = false) {
    const auto row = csv->next();
    if (!row) return std::unexpected(row.error());
    if (!*row) break;
    if (is_first && is_heading(csv->field(1))) continue;  // a header
    const auto nodes = csv->integer(1, 1, kMostNodes);
    if (!nodes) return std::unexpected(nodes.error());
    if (!names.emplace(csv->field(0)).second) {
      return std::unexpected(csv->error(0, "every virtual cluster once"));
    }
    parts.push_back({std::string(csv->field(0)), static_cast<std::uint32_t>(*nodes)});
  }
  if (!parts.empty()) return parts;
  return fail(ErrorCode::BadData, std::string(file) + ": no virtual clusters");
}

Expected<Result> simulate_apart(const Workplace& whole, std::span<const VirtualCluster> parts,
                                const Options& options, const RunPart& run) {
  const trace::Trace& trace = whole.trace;
  const Cluster& cluster = whole.cluster;
  if (auto done = check_nodes(parts, cluster); !done) return std::unexpected(done.error());
  Options each = options;
  each.arrivals = arrivals_of(trace, options.measured);
  Merge merge(trace, each);
  std::vector<bool> has_part(trace.jobs.size(), false);
  std::uint32_t node = 0;
  std::size_t finished = 0;
  if (options.progress) {
    each.progress = [&](std::size_t jobs) { options.progress(finished + jobs); };
  }
  for (const VirtualCluster& virtual_cluster : parts) {
    Part part =
        part_of(trace, virtual_cluster.name, nodes_from(cluster, node, virtual_cluster.nodes));
    const NodeId first(node);
    node += virtual_cluster.nodes;
    each.seed += kStride;
    if (part.trace.jobs.empty()) continue;
    if (auto done = number_types(part, options); !done) return std::unexpected(done.error());
    auto result = run(part.trace, part.cluster, each);
    if (!result) {
      return fail(result.error().code,
                  "virtual cluster " + virtual_cluster.name + ": " + result.error().message);
    }
    for (const std::size_t job : part.places) has_part[job] = true;
    finished += part.places.size();
    merge.add_run(part, std::move(*result), first, cluster.node(first).first_gpu);
  }
  if (finished == 0) {
    return fail(ErrorCode::InvalidArgument,
                "no job of the trace is of a virtual cluster, the first is of '" +
                    trace.jobs.front().user + "'");
  }
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    if (!has_part[i]) merge.reject(i);
  }
  return merge.done();
}

}  // namespace berth::sim
