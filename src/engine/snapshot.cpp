// The engine's state as bytes and back, and the check of its invariants.
#include <algorithm>

#include "core/codec.hpp"
#include "core/members.hpp"
#include "engine/engine.hpp"

namespace berth {

namespace {

constexpr std::int64_t kFormat = 1;

/// What a snapshot holds beside jobs: everything else is derived from it.
struct Frame {
  Instant now;
  std::uint64_t grants = 0;
  std::uint64_t decisions = 0;
  std::uint64_t seed = 0;
  std::uint64_t dropped = 0;
  Settings settings;
  std::map<UserId, Account> accounts;
  std::vector<Hold> holds;
  std::vector<GpuUse> gpus;         ///< Measured figures and health; charges are derived.
  std::vector<std::uint8_t> nodes;  ///< Health.
  std::vector<Job> jobs;
  Snapshot policy;
};
auto members(Frame& v) {
  return std::tie(v.now, v.grants, v.decisions, v.seed, v.dropped, v.settings, v.accounts, v.holds,
                  v.gpus, v.nodes, v.jobs, v.policy);
}

/// One node of the cluster as it was added, and whether a switch begins with it.
struct NodeRecord {
  bool new_switch = false;
  NodeShape shape;
};
auto members(NodeRecord& v) { return std::tie(v.new_switch, v.shape); }

std::vector<NodeRecord> records_of(const Cluster& cluster) {
  std::vector<NodeRecord> records;
  for (std::uint32_t s = 0; s < cluster.switches(); ++s) {
    bool first = true;
    for (const NodeSpec& node : cluster.nodes_of(SwitchId(s))) {
      NodeShape shape{.name = node.name, .gpus = node.gpus, .cpu = node.cpu, .host = node.host};
      if (node.gpus > 0) {
        const GpuSpec& gpu = cluster.gpu(node.first_gpu);
        shape.vram = gpu.capacity;
        shape.context = gpu.context;
        shape.type = cluster.type_names()[gpu.type];
        shape.share_mode = gpu.share_mode;
        shape.slots = gpu.slots;
      }
      records.push_back({first, std::move(shape)});
      first = false;
    }
  }
  return records;
}

Expected<Cluster> cluster_of(const std::vector<NodeRecord>& records) {
  constexpr std::uint32_t kMostGpusPerNode = 1'000'000;
  Cluster cluster;
  for (const NodeRecord& record : records) {
    if (record.new_switch) cluster.add_switch();
    const bool sane = cluster.switches() > 0 && record.shape.gpus <= kMostGpusPerNode &&
                      cluster.type_names().size() < 64;
    if (!sane) return fail(ErrorCode::BadData, "snapshot: not a cluster");
    cluster.add_node(record.shape);
  }
  return cluster;
}

bool is_valid(const Grant& grant, const Cluster& cluster) {
  const bool ascending = std::ranges::adjacent_find(grant.shares, std::ranges::greater_equal(),
                                                    &Share::gpu) == grant.shares.end();
  return ascending && grant.host.value() < cluster.nodes().size() &&
         std::ranges::all_of(
             grant.shares,
             [&](const Share& share) {
               return share.gpu.value() < cluster.gpus().size() && share.charge >= Bytes(0);
             });
}

/// True if the parts agree with each other, so that the state can be built from them.
bool is_consistent(const Frame& frame, const Cluster& cluster) {
  if (frame.gpus.size() != cluster.gpus().size()) return false;
  if (frame.nodes.size() != cluster.nodes().size()) return false;
  JobId last(0);
  for (const Job& job : frame.jobs) {
    const std::int64_t gpus = job.spec.request.gpu.count.raw();
    const std::int64_t held = std::ssize(job.grant.shares);
    const bool valid = holds_berth(job.state) ? is_valid(job.grant, cluster) && held == gpus
                                              : job.grant == Grant{};
    if (!valid || job.id <= last) return false;
    last = job.id;
  }
  return std::ranges::all_of(frame.holds, [&](const Hold& hold) {
    return hold.placement.host.value() < cluster.nodes().size() &&
           std::ranges::is_sorted(hold.placement.gpus) &&
           std::ranges::all_of(
               hold.placement.gpus, [&](GpuId gpu) { return gpu.value() < cluster.gpus().size(); });
  });
}

}  // namespace

std::string Engine::save() const {
  Frame frame{.now = now_,
              .grants = state_.grants,
              .decisions = state_.decisions,
              .seed = state_.seed,
              .dropped = dropped_,
              .settings = state_.settings,
              .accounts = state_.accounts,
              .holds = state_.holds,
              .policy = policy_->save()};
  for (std::uint32_t g = 0; g < state_.cluster.gpus().size(); ++g) {
    const GpuUse& use = state_.ledger.use().gpu(GpuId(g));
    frame.gpus.push_back({.foreign = use.foreign,
                          .used = use.used,
                          .healthy = use.healthy,
                          .reachable = use.reachable});
  }
  for (std::uint32_t n = 0; n < state_.cluster.nodes().size(); ++n) {
    frame.nodes.push_back(state_.ledger.use().node(NodeId(n)).healthy ? 1 : 0);
  }
  state_.jobs.for_each([&](JobId, const Job& job) { frame.jobs.push_back(job); });
  ByteWriter out;
  out.integer(kFormat);
  codec::put(out, records_of(state_.cluster));
  codec::put(out, frame);
  return out.take();
}

Expected<Engine> Engine::restore(std::string_view bytes, std::unique_ptr<Policy> policy) {
  ByteReader in(bytes);
  const std::int64_t format = in.integer();
  if (in.failed() || format != kFormat) {
    return fail(ErrorCode::BadData, "snapshot: format " + std::to_string(format) + ", expected " +
                                        std::to_string(kFormat));
  }
  std::vector<NodeRecord> records;
  Frame frame;
  codec::get(in, records);
  codec::get(in, frame);
  if (in.failed() || !in.at_end()) return fail(ErrorCode::BadData, "snapshot: cut short");
  auto cluster = cluster_of(records);
  if (!cluster) return std::unexpected(cluster.error());
  if (!is_consistent(frame, *cluster)) {
    return fail(ErrorCode::BadData, "snapshot: its parts disagree");
  }
  if (auto done = policy->restore(frame.policy); !done) return std::unexpected(done.error());

  Engine engine(std::move(*cluster), {.settings = frame.settings, .seed = frame.seed},
                std::move(policy));
  State& state = engine.state_;
  engine.now_ = frame.now;
  engine.dropped_ = frame.dropped;
  state.grants = frame.grants;
  state.decisions = frame.decisions;
  state.accounts = std::move(frame.accounts);
  state.holds = std::move(frame.holds);
  for (std::uint32_t g = 0; g < frame.gpus.size(); ++g) {
    state.ledger.set_gpu(state.cluster, GpuId(g), frame.gpus[g]);
  }
  for (std::uint32_t n = 0; n < frame.nodes.size(); ++n) {
    NodeUse use = state.ledger.use().node(NodeId(n));
    use.healthy = frame.nodes[n] != 0;
    state.ledger.set_node(NodeId(n), use);
  }
  for (Job& job : frame.jobs) {
    const JobId id = job.id;
    const Job& known = state.jobs.insert(id, std::move(job));
    if (!holds_berth(known.state)) continue;
    state.ledger.put(state.cluster, known.grant);
    state.running.push_back(known.id);
    engine.watch_time_limit(known);
  }
  return engine;
}

std::optional<std::string> Engine::check() const {
  Occupancy derived(state_.cluster, state_.settings.admission);
  for (std::uint32_t g = 0; g < state_.cluster.gpus().size(); ++g) {
    const GpuUse& use = state_.ledger.use().gpu(GpuId(g));
    derived.set_gpu(state_.cluster, GpuId(g),
                    {.foreign = use.foreign,
                     .used = use.used,
                     .healthy = use.healthy,
                     .reachable = use.reachable});
  }
  for (std::uint32_t n = 0; n < state_.cluster.nodes().size(); ++n) {
    NodeUse use = derived.node(NodeId(n));
    use.healthy = state_.ledger.use().node(NodeId(n)).healthy;
    derived.set_node(NodeId(n), use);
  }
  std::map<UserId, Account> held;
  std::optional<std::string> broken;
  std::vector<JobId> running;
  state_.jobs.for_each([&](JobId id, const Job& job) {
    const std::string name = "job " + std::to_string(id.value());
    if (!holds_berth(job.state)) {
      if (!broken && job.grant != Grant{}) broken = name + " holds a grant without a berth";
      return;
    }
    running.push_back(id);
    derived.put(state_.cluster, job.grant);
    Account& account = held[job.spec.user];
    account.gpus += job.spec.request.gpu.count;
    ++account.jobs;
    for (const Share& share : job.grant.shares) account.charges += share.charge;
    if (!broken && std::ssize(job.grant.shares) != job.spec.request.gpu.count.raw()) {
      broken = name + ": its gang is not whole";
    }
  });
  if (broken) return broken;
  if (running != state_.running) return "the list of running jobs is not that of the jobs";
  if (derived != state_.ledger.use()) return "charges are not conserved";
  if (!state_.ledger.is_in_step()) return "a trial left something behind";
  for (const auto& [user, account] : state_.accounts) {
    const Account& sum = held[user];
    if (sum.gpus != account.gpus || sum.jobs != account.jobs || sum.charges != account.charges) {
      return "user " + std::to_string(user.value()) + ": the account is not the sum of its jobs";
    }
  }
  return std::nullopt;
}

}  // namespace berth
