#include "fgd/study.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "core/view.hpp"
#include "fgd/go_random.hpp"
#include "policy/kit/free_share.hpp"
#include "policy/place/fragmentation.hpp"
#include "policy/registry.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"

namespace berth::fgd {

namespace {

constexpr std::string_view kTasks = "openb_pod_list_";

std::filesystem::path packed_or_plain(const std::filesystem::path& name) {
  const std::filesystem::path plain = name.string() + ".csv";
  return std::filesystem::exists(plain) ? plain : std::filesystem::path(name.string() + ".csv.gz");
}

/// Thousandths of GPUs in all.
std::int64_t asked(const trace::TraceJob& task) {
  const GpuRequest& gpu = task.spec.request.gpu;
  return gpu.count.raw() * (gpu.sharing == Sharing::Alone ? kWholeShare : gpu.milli.raw());
}
std::int64_t asked_of_one(const trace::TraceJob& task) {
  return task.spec.request.gpu.count == GpuCount(0)
             ? 0
             : asked(task) / task.spec.request.gpu.count.raw();
}

/// The same nodes, the i-th of them at position order[i].
Cluster reordered(const Cluster& from, const std::vector<std::size_t>& order) {
  std::vector<std::uint32_t> node_at(order.size());
  for (std::uint32_t n = 0; n < order.size(); ++n) node_at[order[n]] = n;
  Cluster cluster;
  cluster.add_switch();
  for (const std::uint32_t n : node_at) cluster.add_node(from.shape_of(NodeId(n)));
  return cluster;
}

/// The authors' order of the tasks, and as many more as make 130 % of the GPUs.
std::vector<std::size_t> arrivals(const Mix& mix, GoRandom& random) {
  constexpr double kLoad = 1.3;
  const auto& tasks = mix.tasks.jobs;
  std::vector<std::size_t> arrive(tasks.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    arrive[i] = i;
    sum += asked(tasks[i]);
  }
  random.shuffle(arrive);
  const double most = kLoad * static_cast<double>(mix.cluster.gpu_count().raw() * kWholeShare);
  while (static_cast<double>(sum) > most) {
    const auto at = random.below(static_cast<std::int32_t>(arrive.size()));
    sum -= asked(tasks[arrive[static_cast<std::size_t>(at)]]);
    arrive.erase(arrive.begin() + at);
  }
  if (arrive.size() < tasks.size()) return arrive;
  while (true) {
    const auto next =
        static_cast<std::size_t>(random.below(static_cast<std::int32_t>(tasks.size())));
    // The authors' program looks at one GPU of the task here, and then adds them all.
    if (static_cast<double>(sum + asked_of_one(tasks[next])) > most) return arrive;
    sum += asked(tasks[next]);
    arrive.push_back(next);
  }
}

/// What is fragmented of every node, kept in step.
class Fragments {
 public:
  Fragments(const Cluster& cluster, const TargetWorkload& workload)
      : classes_(workload.typical()), of_(cluster.nodes().size()) {}

  void look_at(NodeId id, const Trial& trial) {
    const NodeSpec& node = trial.cluster().node(id);
    FreeOnNode free{.cpu = free_cpu(id, trial).raw(), .shares = {}};
    for (const GpuId gpu : node.gpu_ids()) {
      free.shares.push_back(free_share(gpu, trial));
    }
    const Fragmentation& measure = measure_of(node, trial.cluster());
    sum_ -= of_[id.value()];
    of_[id.value()] = static_cast<double>(measure.of(free)) / static_cast<double>(measure.tasks());
    sum_ += of_[id.value()];
  }
  /// Thousandths of GPUs.
  double sum() const { return sum_; }

 private:
  const Fragmentation& measure_of(const NodeSpec& node, const Cluster& cluster) {
    const GpuSpec& gpu = cluster.gpu(node.first_gpu);
    const auto found = measures_.find(gpu.type);
    if (found != measures_.end()) return found->second;
    const GpuTypes type = cluster.type_bit(node.first_gpu);
    return measures_.emplace(gpu.type, Fragmentation(classes_, gpu, type)).first->second;
  }

  std::vector<TargetWorkload::Class> classes_;
  std::map<std::uint8_t, Fragmentation> measures_;  ///< A type has one spec in this cluster.
  std::vector<double> of_;
  double sum_ = 0;
};

/// Means by arrived load, rounded where the authors' scripts round.
class Means {
 public:
  explicit Means(std::int64_t gpus) : gpus_(static_cast<double>(gpus)) {}

  void add(std::int64_t arrived, std::int64_t allocated, double fragmented) {
    const auto load =
        static_cast<std::size_t>(std::nearbyint(static_cast<double>(arrived) / gpus_ / 10));
    if (load >= rows_.size()) return;
    ++rows_[load];
    allocated_[load] += cents(static_cast<double>(allocated) / gpus_ / 10);
    fragmented_[load] += cents(fragmented);
  }
  Curve curve() const {
    Curve curve;
    for (std::size_t load = 0; load < rows_.size(); ++load) {
      const auto [allocated, fragmented, rows] = around(load);
      curve.allocated[load] = cents(allocated / rows);
      curve.fragmented[load] = cents(100 * fragmented / rows / 1000 / gpus_);
    }
    return curve;
  }

 private:
  struct Sums {
    double allocated, fragmented, rows;
  };
  static double cents(double value) { return std::nearbyint(value * 100) / 100; }
  /// A load that no task reached exactly stands between its neighbours.
  Sums around(std::size_t load) const {
    Sums sums{.allocated = allocated_[load], .fragmented = fragmented_[load], .rows = rows_[load]};
    if (rows_[load] > 0) return sums;
    for (const std::size_t next : {load - 1, load + 1}) {
      if (next >= rows_.size()) continue;
      sums = {sums.allocated + allocated_[next], sums.fragmented + fragmented_[next],
              sums.rows + rows_[next]};
    }
    return sums;
  }

  double gpus_;
  std::array<double, 131> rows_{}, allocated_{}, fragmented_{};
};

/// A cluster that tasks only ever come to.
class Arrivals {
 public:
  Arrivals(const Cluster& cluster, std::int64_t seed) : state_(cluster, {}) {
    state_.seed = static_cast<std::uint64_t>(seed);
  }

  /// Returns: where it is now; nothing if no place was found.
  Expected<std::optional<Placement>> offer(const JobSpec& spec, Placer& placer) {
    const JobId id(state_.jobs.size() + ++refused_);
    Job& job = state_.jobs.insert(id, Job{.id = id, .spec = spec});
    placer.prepare(view(), events_);
    events_.clear();
    ++state_.decisions;
    const Ask ask = ask_of(view().job(id));
    auto placed = choose(ask, id, placer);
    if (!placed) return std::unexpected(placed.error());
    if (!*placed) {
      state_.jobs.erase(id);
      return std::nullopt;
    }
    --refused_;
    job.grant = state_.ledger.use().grant_for(state_.cluster, ask, **placed);
    job.grant_number = ++state_.grants;
    job.state = JobState::Running;
    state_.ledger.put(state_.cluster, job.grant);
    state_.running.push_back(id);
    events_.push_back({EventKind::Granted, id});
    return placed;
  }
  ClusterView view() const { return ClusterView(state_, kStart); }

 private:
  Expected<std::optional<Placement>> choose(const Ask& ask, JobId id, const Placer& placer) {
    const Trial trial = view().trial();
    Placed placed = placer.place(ask, id, trial);
    if (!placed) return std::nullopt;
    if (trial.look(*placed, ask, id) != Why::Fits) {
      return fail(ErrorCode::Conflict, "job " + std::to_string(id.value()) + " does not fit there");
    }
    return std::optional(std::move(*placed));
  }

  State state_;
  std::vector<Event> events_;
  std::uint64_t refused_ = 0;
};

/// Between tasks and nodes something else in the authors' program draws ten numbers, most likely
/// each of its watches one for its time-out. Ten is the only count from 0 to 24 with which BestFit
/// gives the published figures for seed 42 of the default mix; with it all seeds and mixes do.
constexpr int kOtherDraws = 10;

TargetWorkload workload_of(const trace::Trace& tasks) {
  TargetWorkload workload;
  for (const trace::TraceJob& task : tasks.jobs) workload.add({.request = task.spec.request});
  return workload;
}

Expected<std::unique_ptr<Placer>> make_placer(std::string_view place,
                                              const TargetWorkload& workload) {
  if (place == "fgd") return fgd_for(workload);
  const auto found = std::ranges::find(placers(), place, &PlacerEntry::name);
  if (found != placers().end()) return found->make();
  return fail(ErrorCode::NotFound, "placement '" + std::string(place) + "' is not known");
}

}  // namespace

Expected<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::NotFound, path.string() + ": cannot be read");
  return trace::unpacked({std::istreambuf_iterator(file), {}}, path.string());
}

Expected<std::vector<std::string>> mixes_at_hand(const std::filesystem::path& folder) {
  std::error_code failed;
  const std::filesystem::directory_iterator files(folder, failed);
  if (failed) return fail(ErrorCode::NotFound, folder.string() + ": " + failed.message());
  std::set<std::string> mixes;
  for (const auto& file : files) {
    const std::string name = file.path().filename();
    const std::size_t end = name.find(".csv");
    if (!name.starts_with(kTasks) || end == std::string::npos) continue;
    mixes.insert(name.substr(kTasks.size(), end - kTasks.size()));
  }
  return std::vector(mixes.begin(), mixes.end());
}

Expected<Mix> load_mix(const std::filesystem::path& folder, const std::string& mix) {
  const std::filesystem::path nodes = packed_or_plain(folder / "openb_node_list_gpu_node");
  const std::filesystem::path tasks = packed_or_plain(folder / (std::string(kTasks) + mix));
  auto node_text = text_of(nodes);
  if (!node_text) return std::unexpected(node_text.error());
  auto task_text = text_of(tasks);
  if (!task_text) return std::unexpected(task_text.error());
  auto cluster = trace::read_openb_nodes(*node_text, nodes.string());
  if (!cluster) return std::unexpected(cluster.error());
  auto trace = trace::read("openb", *task_text, tasks.string());
  if (!trace) return std::unexpected(trace.error());
  std::ranges::sort(trace->jobs, {}, &trace::TraceJob::name);
  return Mix{.cluster = std::move(*cluster), .tasks = std::move(*trace)};
}

Draw draw(const Mix& mix, std::int64_t seed) {
  GoRandom random(seed);
  random.int63();  // the authors' program logs one
  std::vector<std::size_t> arrive = arrivals(mix, random);
  for (int i = 0; i < kOtherDraws; ++i) random.int63();
  Draw draw{.cluster = reordered(mix.cluster, random.permutation(mix.cluster.nodes().size())),
            .tasks = mix.tasks,
            .arrive = std::move(arrive)};
  const auto accepted = trace::accept_types(draw.tasks, draw.cluster);
  BERTH_ASSERT(accepted.has_value());
  return draw;
}

Expected<Run> run(const Draw& draw, std::string_view place, std::int64_t seed) {
  const TargetWorkload workload = workload_of(draw.tasks);
  auto placer = make_placer(place, workload);
  if (!placer) return std::unexpected(placer.error());
  Arrivals arrivals(draw.cluster, seed);
  Fragments fragments(draw.cluster, workload);
  for (std::uint32_t n = 0; n < draw.cluster.nodes().size(); ++n) {
    fragments.look_at(NodeId(n), arrivals.view().trial());
  }
  Means means(draw.cluster.gpu_count().raw());
  Run run{.curve = {}, .tasks = draw.arrive.size()};
  std::int64_t arrived = 0;
  for (const std::size_t which : draw.arrive) {
    const trace::TraceJob& task = draw.tasks.jobs[which];
    arrived += asked(task);
    const auto placed = arrivals.offer(task.spec, **placer);
    if (!placed) return std::unexpected(placed.error());
    if (*placed) {
      run.allocated += asked(task);
      fragments.look_at((*placed)->host, arrivals.view().trial());
    }
    means.add(arrived, run.allocated, fragments.sum());
  }
  run.curve = means.curve();
  return run;
}

}  // namespace berth::fgd
