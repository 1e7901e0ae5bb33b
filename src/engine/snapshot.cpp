// The engine's state as bytes and back, and the check of its invariants.
#include <algorithm>
#include <iterator>

#include "core/base/codec.hpp"
#include "engine/engine.hpp"
#include "engine/frame.hpp"

namespace berth {

namespace {

std::unexpected<Error> disagree(const std::string& what) {
  return fail(ErrorCode::BadData, "snapshot: its parts disagree: " + what);
}

Expected<Frame> frame_in(std::string_view bytes) {
  ByteReader in(bytes);
  if (!codec::get_layout(in)) {
    return fail(ErrorCode::BadData, "snapshot: layout " +
                                        std::to_string(ByteReader(bytes).integer()) +
                                        ", this berth reads " + std::to_string(kLayout));
  }
  Frame frame;
  codec::get(in, frame);
  if (in.failed() || !in.at_end()) return fail(ErrorCode::BadData, "snapshot: cut short");
  return frame;
}

}  // namespace

void Engine::put_head(ByteWriter& out, std::span<const Hold> holds) const {
  FrameHead frame{.cluster = records_of(state_.cluster),
                  .now = now_,
                  .grants = state_.grants,
                  .decisions = state_.decisions,
                  .seed = state_.seed,
                  .dropped = dropped_,
                  .settings = state_.settings,
                  .accounts = state_.accounts,
                  .holds = {holds.begin(), holds.end()}};
  for (const GpuId gpu : state_.cluster.gpu_ids()) {
    const GpuUse& use = state_.ledger.use().gpu(gpu);
    frame.gpus.push_back({.foreign = use.foreign,
                          .used = use.used,
                          .utilisation = use.utilisation,
                          .healthy = use.healthy,
                          .reachable = use.reachable});
  }
  for (const NodeId node : state_.cluster.node_ids()) {
    frame.nodes.push_back(state_.ledger.use().node(node).healthy ? 1 : 0);
  }
  out.integer(kLayout);
  codec::put(out, frame);
}

void Engine::put_tail(ByteWriter& out, const CompanyRecord& company) const {
  codec::put(out, company);
  codec::put(out, state_.bounds);
  const auto ended = state_.history.record();
  codec::put(out, std::vector<Ended>(ended.begin(), ended.end()));
  codec::put(out, state_.history.count());
  codec::put(out, state_.speeds);
  codec::put(out, state_.drains);
  codec::put(out, state_.calendar);
  codec::put(out, state_.last_reservation);
  codec::put(out, state_.past_runs.users());
  codec::put(out, past_terms_);
}

/// As a Frame would be written, without a copy of every job.
std::string Engine::save() const {
  ByteWriter out;
  put_head(out, state_.holds);
  out.integer(static_cast<std::int64_t>(state_.jobs.size()));
  state_.jobs.for_each([&](JobId, const Job& job) { codec::put(out, job); });
  out.text(policy_->save());
  put_tail(out, state_.company.record());
  return out.take();
}

std::string Engine::picture(std::span<const JobId> jobs) const {
  std::vector<JobId> wanted;
  std::ranges::set_union(jobs, state_.running, std::back_inserter(wanted));
  std::vector<JobId> kept;
  const auto is_kept = [&](JobId id) { return std::ranges::binary_search(kept, id); };
  for (const JobId id : wanted) {
    const Job* const job = state_.jobs.find(id);
    if (job == nullptr) continue;
    const auto& after = job->spec.conditions->after;
    if (std::ranges::all_of(after, is_kept, &Dependency::job)) kept.push_back(id);
  }
  std::vector<Hold> holds = state_.holds;
  std::erase_if(holds, [&](const Hold& hold) { return !is_kept(hold.job); });
  ByteWriter out;
  put_head(out, holds);
  out.integer(static_cast<std::int64_t>(kept.size()));
  for (const JobId id : kept) codec::put(out, state_.jobs.at(id));
  out.text("");
  put_tail(out, state_.company.record_of(kept));
  return out.take();
}

Expected<Engine> Engine::restore(std::string_view bytes, std::unique_ptr<Policy> policy,
                                 Recall recall) {
  auto frame = frame_in(bytes);
  if (!frame) return std::unexpected(frame.error());
  if (const auto fault = find_fault(*frame)) return disagree(*fault);
  const Snapshot memory = recall == Recall::All ? frame->policy : Snapshot();
  if (auto done = policy->restore(memory); !done) return std::unexpected(done.error());
  return engine_of(std::move(*frame), std::move(policy));
}

/// The policy begins without memory: it may remember what is put aside.
Expected<Salvaged> Engine::salvage(std::string_view bytes, std::unique_ptr<Policy> policy) {
  auto frame = frame_in(bytes);
  if (!frame) return std::unexpected(frame.error());
  std::vector<PutAside> aside = put_bad_jobs_aside(*frame);
  if (!aside.empty()) count_accounts_again(*frame, cluster_of(frame->cluster));
  if (const auto fault = find_fault(*frame)) return disagree(*fault);
  if (auto done = policy->restore(Snapshot()); !done) return std::unexpected(done.error());
  auto engine = engine_of(std::move(*frame), std::move(policy));
  if (!engine) return std::unexpected(engine.error());
  return Salvaged{.engine = std::move(*engine), .aside = std::move(aside)};
}

/// What users hold is what their jobs hold, once some are gone, or GPUs have come or gone.
void Engine::count_accounts_again(Frame& frame, const Cluster& cluster) {
  const Engine plain(cluster, {.settings = frame.settings, .bounds = {}}, nullptr);
  for (auto& [user, account] : frame.accounts) {
    account.settle(frame.now, frame.settings.service_half_life);
    account.gpus = GpuCount(0);
    account.charges = Bytes(0);
    account.worth = {};
    account.jobs = 0;
  }
  for (const Job& job : frame.jobs) {
    if (holds_berth(job.state)) plain.count(frame.accounts[job.spec.user], job.grant, 1);
  }
  for (auto& [user, account] : frame.accounts) account.share_ppb = plain.share_of(account);
}

Expected<Engine> Engine::set_back(Instant to, std::unique_ptr<Policy> policy) const {
  auto frame = frame_in(save());
  if (!frame) return std::unexpected(frame.error());
  berth::set_back(*frame, to);
  frame->holds.clear();  // the policy makes others
  if (const auto fault = find_fault(*frame)) return disagree(*fault);
  if (auto done = policy->restore(Snapshot()); !done) return std::unexpected(done.error());
  return engine_of(std::move(*frame), std::move(policy));
}

Expected<Engine> Engine::with_nodes(const Cluster& cluster, std::unique_ptr<Policy> policy) const {
  auto frame = frame_in(save());
  if (!frame) return std::unexpected(frame.error());
  frame->cluster = records_of(cluster);
  frame->gpus.resize(cluster.gpus().size());
  frame->nodes.resize(cluster.nodes().size(), 1);
  count_accounts_again(*frame, cluster);  // what a user holds is less of it
  return engine_of(std::move(*frame), std::move(policy));
}

Expected<Engine> Engine::moved_to(const Cluster& cluster, std::unique_ptr<Policy> policy) const {
  auto frame = frame_in(save());
  if (!frame) return std::unexpected(frame.error());
  move_to(*frame, cluster);
  count_accounts_again(*frame, cluster);
  if (const auto fault = find_fault(*frame)) return disagree(*fault);
  if (auto done = policy->restore(Snapshot()); !done) return std::unexpected(done.error());
  return engine_of(std::move(*frame), std::move(policy));
}

Expected<Engine> Engine::engine_of(Frame frame, std::unique_ptr<Policy> policy) {
  Engine engine(cluster_of(frame.cluster), {.settings = frame.settings, .seed = frame.seed},
                std::move(policy));
  State& state = engine.state_;
  engine.now_ = frame.now;
  engine.dropped_ = frame.dropped;
  state.grants = frame.grants;
  state.decisions = frame.decisions;
  state.accounts = std::move(frame.accounts);
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
    engine.deferrals_.add(known, engine.now_);
    engine.note_place(known);
    if (!holds_berth(known.state)) continue;
    state.ledger.put(state.cluster, known.grant);
    state.running.push_back(known.id);
    for (const Share& share : known.grant.shares) {
      state.tenants[share.gpu.value()].push_back(known.id);
    }
    engine.watch_time_limit(known);
  }
  engine.value_gpus();
  for (const GpuId gpu : state.cluster.gpu_ids()) engine.watch_relief(gpu);
  for (auto& [gpu, drain] : frame.drains) engine.set_drain(gpu, std::move(drain));
  state.calendar = std::move(frame.calendar);
  state.last_reservation = frame.last_reservation;
  engine.past_terms_ = std::move(frame.past_terms);
  engine.mark_reserved();
  engine.bar_jobs();
  engine.events_.clear();
  if (!engine.is_valid(frame.holds)) return disagree("a place kept");
  state.holds = std::move(frame.holds);
  state.company = Company(std::move(frame.company));
  state.bounds = frame.bounds;
  state.history = History(std::move(frame.ended), frame.ended_count);
  state.past_runs = PastRuns(std::move(frame.past_runs));
  state.speeds = std::move(frame.speeds);
  if (const auto broken = engine.check()) return disagree(*broken);
  return engine;
}

std::optional<std::string> Engine::check() const {
  Occupancy derived(state_.cluster, state_.settings.admission);
  for (const GpuId gpu : state_.cluster.gpu_ids()) {
    const GpuUse& use = state_.ledger.use().gpu(gpu);
    derived.set_gpu(state_.cluster, gpu,
                    {.foreign = use.foreign,
                     .used = use.used,
                     .utilisation = use.utilisation,
                     .drained = state_.drains.contains(gpu),
                     .healthy = use.healthy,
                     .reachable = use.reachable,
                     .reserved = reserved_bits(gpu)});
  }
  for (const NodeId node : state_.cluster.node_ids()) {
    NodeUse use = derived.node(node);
    use.healthy = state_.ledger.use().node(node).healthy;
    derived.set_node(node, use);
  }
  std::map<UserId, Account> held;
  std::optional<std::string> broken;
  std::vector<JobId> running;
  std::vector<std::vector<JobId>> tenants(state_.cluster.gpus().size());
  Deferrals deferrals;
  state_.jobs.for_each([&](JobId id, const Job& job) {
    deferrals.add(job, now_);
    const std::string name = "job " + std::to_string(id.value());
    if (!holds_berth(job.state)) {
      if (!broken && job.grant != Grant{}) broken = name + " holds a grant without a berth";
      return;
    }
    running.push_back(id);
    derived.put(state_.cluster, job.grant);
    count(held[job.spec.user], job.grant, 1);
    for (const Share& share : job.grant.shares) tenants[share.gpu.value()].push_back(id);
    const GpuRequest& asked = job.spec.request.gpu;
    if (!broken && (job.barred & ~calendar_bits()) != 0) broken = name + " is barred by nothing";
    if (!broken && (job.grant.gpus() < asked.least() || job.grant.gpus() > asked.most())) {
      broken = name + ": its gang is not whole";
    }
  });
  if (broken) return broken;
  if (deferrals != deferrals_) return "what jobs wait for is not what they ask for";
  if (running != state_.running) return "the list of running jobs is not that of the jobs";
  if (tenants != state_.tenants) return "the tenants of the GPUs are not those of the grants";
  if (derived != state_.ledger.use()) return "charges are not conserved";
  if (!state_.ledger.is_in_step()) return "a trial left something behind";
  for (const auto& [user, sum] : held) {
    if (!state_.accounts.contains(user)) {
      return "user " + std::to_string(user.value()) + ": holds a berth without an account";
    }
  }
  for (const auto& [user, account] : state_.accounts) {
    const Account& sum = held[user];
    if (account.share_ppb != share_of(account)) {
      return "user " + std::to_string(user.value()) + ": the share is not that of the account";
    }
    if (sum.gpus != account.gpus || sum.jobs != account.jobs || sum.charges != account.charges ||
        sum.worth != account.worth) {
      return "user " + std::to_string(user.value()) + ": the account is not the sum of its jobs";
    }
  }
  return std::nullopt;
}

}  // namespace berth
