#include "daemon/machine/executor.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "daemon/machine/order.hpp"
#include "daemon/machine/slurm_variables.hpp"

namespace berth::daemon {

namespace {

/// Host memory for what suspended jobs held on GPUs. What is emulated takes none.
SuspenderOptions suspender_options(const Options& options, const Machine& machine) {
  return {.folder = options.state + "/suspended",
          .cuda = machine.cuda,
          .nvml = machine.nvml,
          .environment = machine.environment,
          .room = room_for_suspended(options, machine),
          .patience = options.suspend_patience};
}

/// What its log says of that.
shim::EndedFor ended_for(const Job* job) {
  if (job == nullptr || !job->ending) return shim::EndedFor::Unsaid;
  switch (job->outcome) {
    case Outcome::Cancelled:
      return shim::EndedFor::Cancel;
    case Outcome::Timeout:
      return shim::EndedFor::TimeLimit;
    case Outcome::Oom:
    case Outcome::Failed:  // on a GPU that it was not given
      return shim::EndedFor::GpuMemory;
    default:
      return shim::EndedFor::Unsaid;
  }
}

}  // namespace

live::Ending ending_of(const shim::Exit& exit, Outcome outcome, const std::string& note,
                       const Clock& clock) {
  return {
      .outcome = outcome, .code = shim::shell_code(exit), .at = clock.at(exit.at), .note = note};
}

ShimExecutor::ShimExecutor(Parts parts, SuspenderHooks hooks)
    : parts_(std::move(parts)),
      hooks_(with_own(std::move(hooks))),
      suspender_(parts_.loop, suspender_options(parts_.options, parts_.machine), hooks_) {}

/// A job whose processes cannot go on is ended; why is told with its end. One that runs has its
/// limit of memory again.
SuspenderHooks ShimExecutor::with_own(SuspenderHooks hooks) {
  hooks.resumed = [this, tell = std::move(hooks.resumed)](JobId job, Attempt attempt) {
    limit_memory_again(job, attempt);
    tell(job, attempt);
  };
  hooks.suspend_failed = [this, tell = std::move(hooks.suspend_failed)](
                             JobId job, Attempt attempt, const std::string& why, Duration again) {
    limit_memory_again(job, attempt);
    tell(job, attempt, why, again);
  };
  hooks.broken = [this](JobId job, Attempt attempt, const std::string& why) {
    broken_[job] = why;
    launcher().stop(job, attempt, live::Manner::AtOnce);
  };
  return hooks;
}

Expected<void> ShimExecutor::launch(const live::Assignment& assigned) {
  const JobId job = assigned.job.id;
  if (assigned.command.adopted) return launcher().launch(order_to_adopt(assigned, parts_.options));
  if (!suspender_.knows(job)) {
    const bool is_told = tells_slurm(assigned.environment);
    const bool is_client = wants_mps(assigned);
    shim::Order order = order_of(assigned, parts_.options, parts_.machine);
    set_variables(order, {{kJobKey, parts_.keys.key_of(job)}});
    if (is_told) tell_slurm(order, assigned, view().now());
    const bool is_limited = limit_host(assigned, order.cgroup);
    limit_devices(job, order.cgroup, assigned.grant);
    order.keeps_cgroup =
        parts_.limits.begin(view(), job, order.attempt, order.cgroup) || is_limited;
    if (!is_client) return launcher().launch(order);
    const MpsClient client = mps_client(assigned, order);
    launch_as_client(client, std::move(order));
    return {};
  }
  if (auto taken = launcher().take_over(job, assigned.attempt); !taken) return taken;
  limit(job, assigned.attempt);
  // It may go on elsewhere: the driver opens the files of its new GPUs.
  limit_devices(job, launcher().cgroup_of(job, assigned.attempt), assigned.grant);
  suspender_.resume(target_of(job, assigned.attempt, assigned.grant));
  return {};
}

/// What cannot be limited is told to the administrator; the job runs. Returns: whether its cgroup
/// has something to tell at its end.
bool ShimExecutor::limit_host(const live::Assignment& assigned, const std::string& group) const {
  const Request& asked = assigned.job.spec.request;
  const HostAsk ask{
      .memory = asked.host, .cores = asked.cpu, .processes = assigned.command.processes};
  if (group.empty() || ask == HostAsk{} || parts_.host_limits.limited().empty()) return false;
  if (const auto done = parts_.host_limits.set(group, ask); !done) {
    std::fprintf(stderr, "berthd: job %llu: is not limited: %s\n",
                 static_cast<unsigned long long>(assigned.job.id.value()),
                 done.error().message.c_str());
  }
  return true;
}

/// What cannot be denied is told to the administrator, as above.
void ShimExecutor::limit_devices(JobId job, const std::string& group, const Grant& grant) const {
  const auto done = parts_.device_rules.set(group, live::gpus_of(grant));
  if (done) return;
  std::fprintf(stderr, "berthd: job %llu: can open the device files of all GPUs: %s\n",
               static_cast<unsigned long long>(job.value()), done.error().message.c_str());
}

void ShimExecutor::limit_memory_again(JobId job, Attempt attempt) const {
  const Job* const known = view().find(job);
  const Bytes most = known == nullptr ? Bytes(0) : known->spec.request.host;
  const std::string group = parts_.launcher.cgroup_of(job, attempt);
  if (most == Bytes(0) || group.empty()) return;
  const auto done = parts_.host_limits.set_memory(group, most);
  if (done) return;
  std::fprintf(stderr, "berthd: job %llu: is not limited: %s\n",
               static_cast<unsigned long long>(job.value()), done.error().message.c_str());
}

/// What its user said counts; else what the policy chose, where there is something to share.
bool ShimExecutor::wants_mps(const live::Assignment& assigned) {
  const Grant& grant = assigned.grant;
  for (const std::string& variable : assigned.environment) {
    if (variable.starts_with(kShare)) return variable.ends_with("=mps") && !grant.shares.empty();
  }
  if (grant.share != ShareMode::Mps || grant.sharing == Sharing::Alone) return false;
  if (grant.shares.empty() || has_instances(grant)) return false;
  const std::string& why_not = parts_.mps.why_not();
  if (!why_not.empty() && !std::exchange(told_no_mps_, true)) {
    std::fprintf(stderr, "berthd: jobs take turns where the policy would use MPS: %s\n",
                 why_not.c_str());
  }
  return why_not.empty();
}

bool ShimExecutor::has_instances(const Grant& grant) const {
  return std::ranges::any_of(grant.shares, [&](const Share& share) {
    return view().cluster().gpu(share.gpu).share_mode == ShareMode::Mig;
  });
}

MpsClient ShimExecutor::mps_client(const live::Assignment& assigned,
                                   const shim::Order& order) const {
  const auto& shares = assigned.grant.shares;
  const GpuRequest& gpu = assigned.job.spec.request.gpu;
  const bool is_alone = gpu.sharing == Sharing::Alone;
  const Bytes charge = std::ranges::min(shares, {}, &Share::charge).charge;
  constexpr Bytes kLeast{std::int64_t{1} << 20};  // limits are whole MiB
  MpsClient client{
      .job = order.job,
      .user = order.user,
      .group = order.group,
      .groups = order.groups,
      .gpus = live::gpus_of(assigned.grant),
      .uuids = {},
      .most = is_alone ? Bytes(0) : std::max(kLeast, Bytes(charge.raw() / gpu.processes))};
  for (const GpuId id : client.gpus) {
    client.uuids.push_back(parts_.machine.devices.list[id.value()].uuid);
  }
  return client;
}

/// Its start waits for its server, and nothing else does.
void ShimExecutor::launch_as_client(const MpsClient& client, shim::Order order) {
  const Key key{order.job, order.attempt};
  wait_for_server_[key] = std::move(order);
  parts_.mps.begin(client, [this, key](const Expected<Variables>& joined) {
    // Later at any rate: launch() calls nobody back.
    parts_.loop.post([this, key, joined] { on_server(key, joined); });
  });
}

/// A job that is to have MPS and cannot have it runs without, and is watched.
void ShimExecutor::on_server(const Key& key, const Expected<Variables>& joined) {
  auto found = wait_for_server_.extract(key);
  if (!found) return;  // it was ended meanwhile
  shim::Order& order = found.mapped();
  if (joined) {
    set_variables(order, *joined);
  } else {
    std::fprintf(stderr, "berthd: job %llu runs without MPS: %s\n",
                 static_cast<unsigned long long>(order.job.value()),
                 joined.error().message.c_str());
  }
  const auto launched = launcher().launch(order);
  if (!launched) parts_.not_started(key.first, key.second, launched.error().message);
}

live::Trace ShimExecutor::adopt(JobId job, Attempt attempt) {
  const live::Trace trace = launcher().adopt(job, attempt);
  if (trace != live::Trace::Lives) return trace;
  const Job* const known = view().find(job);
  if (known != nullptr && is_adopted(known->spec)) {
    launcher().is_outside(job, attempt);
    return trace;
  }
  limit(job, attempt);
  if (known != nullptr) limit_devices(job, launcher().cgroup_of(job, attempt), known->grant);
  return trace;
}

bool ShimExecutor::is_limited(JobId job) const {
  if (parts_.limits.is_limited(job)) return true;
  const Job* const known = view().find(job);
  return known != nullptr && has_instances(known->grant);
}

/// An attempt that runs already, in the cgroup that was made for it.
void ShimExecutor::limit(JobId job, Attempt attempt) {
  parts_.limits.adopt(view(), job, attempt, launcher().cgroup_of(job, attempt));
}

std::vector<std::string> ShimExecutor::sweep(const live::StandingOf& standing_of, JobId last) {
  std::set<std::string> current;
  view().for_each_job([&](const Job& job) {
    const bool has_process = holds_berth(job.state) || has_idle_process(job);
    if (!has_process) return;  // a million may wait, of which there is no file
    current.insert(cgroup_path(parts_.options.cgroup, job.id, job.attempt));
    current.insert(launcher().cgroup_of(job.id, job.attempt));  // of an attempt before, taken over
  });
  parts_.limits.sweep(current);
  parts_.mps.sweep([&](JobId job) {
    const Job* const known = view().find(job);
    return known != nullptr && holds_berth(known->state);
  });
  return launcher().sweep(standing_of, last);
}

void ShimExecutor::go_on(JobId job, Attempt attempt, const Grant& grant) {
  if (!suspender_.knows(job)) return;
  limit_devices(job, launcher().cgroup_of(job, attempt), grant);
  suspender_.resume(target_of(job, attempt, grant));
}

void ShimExecutor::stop(JobId job, Attempt attempt, live::Manner manner) {
  if (manner == live::Manner::Suspend) return suspend(job, attempt);
  suspends_then_.erase({job, attempt});
  if (wait_for_server_.erase({job, attempt}) > 0) {
    parts_.loop.post([this, job, attempt] {
      parts_.not_started(job, attempt, "it was ended before its MPS server was there");
    });
    return;
  }
  // A process that is locked cannot comply, however long it is given.
  const bool is_idle = suspender_.knows(job);
  suspender_.forget(job);
  launcher().stop(job, attempt, is_idle ? live::Manner::AtOnce : manner,
                  ended_for(view().find(job)));
}

SuspendTarget ShimExecutor::target_of(JobId job, Attempt attempt, const Grant& grant) const {
  SuspendTarget target{.job = job,
                       .attempt = attempt,
                       .shim = parts_.launcher.shim_of(job, attempt).value_or(0),
                       .cgroup = parts_.launcher.cgroup_of(job, attempt),
                       .gpus = {}};
  if (::access((target.cgroup + "/cgroup.freeze").c_str(), W_OK) != 0) target.cgroup.clear();
  for (const GpuId gpu : live::gpus_of(grant)) {
    target.gpus.push_back(parts_.machine.devices.list[gpu.value()].uuid);
  }
  return target;
}

/// One whose process is not there yet would begin while it counts as suspended.
void ShimExecutor::suspend(JobId job, Attempt attempt) {
  const Job* const known = view().find(job);
  if (known == nullptr) return;
  if (!launcher().shim_of(job, attempt)) {
    suspends_then_.insert({job, attempt});
    return;
  }
  const bool is_elastic = known->spec.request.gpu.is_elastic();
  const std::string why =
      parts_.mps.serves(job)
          ? "it is a client of an MPS server, and these are not checkpointed one by one"
      : parts_.is_partly_outside(job) ? "a process outside its tree (a container's) holds GPU "
                                        "memory for it, and is not berth's "
                                        "to checkpoint"
      : is_elastic ? "its number of GPUs may change, and that of a suspended process cannot"
                   : parts_.machine.no_suspension;
  if (!why.empty() && !suspender_.knows(job)) {
    parts_.loop.post([this, job, attempt, why] {
      hooks_.suspend_failed(job, attempt, "was not suspended: " + why, kForever);
    });
    return;
  }
  const std::string group = launcher().cgroup_of(job, attempt);
  if (known->spec.request.host > Bytes(0) && !group.empty()) parts_.host_limits.lift_memory(group);
  suspender_.suspend(target_of(job, attempt, known->grant));
}

bool ShimExecutor::on_started(JobId job, Attempt attempt) {
  const bool is_news = !suspender_.knows(job);
  const Job* const known = view().find(job);
  if (known != nullptr && is_adopted(known->spec)) launcher().is_outside(job, attempt);
  if (suspends_then_.erase({job, attempt}) > 0) suspend(job, attempt);
  return is_news;
}

std::string ShimExecutor::on_ended(JobId job) {
  suspender_.forget(job);
  std::erase_if(suspends_then_, [&](const auto& key) { return key.first == job; });
  const auto found = broken_.extract(job);
  return found ? found.mapped() : "";
}

void ShimExecutor::forget(JobId job, Attempt attempt) {
  if (suspender_.knows(job)) stop(job, attempt, live::Manner::AtOnce);
  const std::string cgroup = launcher().cgroup_of(job, attempt);
  wait_for_server_.erase({job, attempt});
  parts_.mps.forget(job);
  launcher().forget(job, attempt);
  parts_.limits.forget(job, attempt,
                       cgroup.empty() ? cgroup_path(parts_.options.cgroup, job, attempt) : cgroup);
}

}  // namespace berth::daemon
