#include "daemon/requests/adoption.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "core/base/limits.hpp"
#include "core/steady.hpp"
#include "core/text/text.hpp"
#include "daemon/daemon.hpp"
#include "daemon/loop/processes.hpp"
#include "daemon/requests/admit.hpp"
#include "daemon/requests/job_fields.hpp"
#include "daemon/requests/request_json.hpp"
#include "engine/adoption.hpp"
#include "shim/proc.hpp"

namespace berth::daemon {

namespace {

/// Beside what it holds now, where there is room: it may not have reached its most yet.
constexpr Bytes kLeastMargin{std::int64_t{512} << 20};
constexpr std::int64_t kMarginPart = 8;

/// What a job of it may say, beside which process it is.
bool may_be_said(std::string_view key) {
  const JobField* const field = find_job_field(key);
  return field != nullptr && (is_of_adoption(*field) || field->name == "command");
}

struct Identity {
  std::vector<uid_t> users;  ///< Real, effective, saved and of files.
  gid_t group = 0;
  std::vector<gid_t> groups;
};

/// The numbers of a line of /proc/PID/status.
std::vector<std::uint32_t> numbers_in_status(const std::string& status, const std::string& key) {
  const std::size_t line = status.find("\n" + key + ":");
  if (line == std::string::npos) return {};
  const std::size_t begin = line + key.size() + 2;
  std::istringstream words(status.substr(begin, status.find('\n', begin) - begin));
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t number = 0; words >> number;) numbers.push_back(number);
  return numbers;
}

std::optional<Identity> identity_of(pid_t pid) {
  constexpr std::size_t kMostStatus = std::size_t{1} << 20;  // of one in very many groups
  const std::string status = shim::read_proc(pid, "status", kMostStatus);
  const auto groups = numbers_in_status(status, "Gid");
  Identity identity{.users = numbers_in_status(status, "Uid"),
                    .groups = numbers_in_status(status, "Groups")};
  if (identity.users.empty() || groups.empty()) return std::nullopt;
  identity.group = groups.front();
  return identity;
}

std::unexpected<Denial> refused(int status, std::string why) {
  return std::unexpected(Denial{.status = status, .message = std::move(why)});
}

/// One request on its way through the checks.
struct Candidate {
  const Adopting& asked;
  const Daemon& daemon;
  std::string name = "process " + std::to_string(asked.wish.pid);
  std::uint64_t start = 0;
  Identity identity = {};
  std::vector<AdoptedShare> shares = {};

  ClusterView view() const { return daemon.keeper().engine().view(); }
  pid_t pid() const { return asked.wish.pid; }
  UserId user() const { return UserId(identity.users.front()); }
  std::unexpected<Denial> conflict(const std::string& what) const {
    return refused(409, name + ": " + what);
  }
};
using Checked = std::expected<void, Denial>;
using AdoptionCheck = Checked (*)(Candidate&);

Checked check_site(Candidate& one) {
  const std::string why = one.daemon.site().why_not_adopted();
  return why.empty() ? Checked() : one.conflict(why);
}

/// To end it would end this service, or the machine.
Checked check_is_no_ancestor(Candidate& one) {
  if (one.pid() == 1) return one.conflict("is the first of all processes, and no job");
  for (pid_t at = ::getpid(); at > 1;) {
    if (at == one.pid()) {
      return one.conflict(at == ::getpid() ? "is berthd itself" : "berthd runs below it");
    }
    const auto stat = shim::stat_of(at);
    at = stat ? stat->parent : 0;
  }
  return {};
}

Checked check_is_there(Candidate& one) {
  const auto stat = shim::stat_of(one.pid());
  auto identity = identity_of(one.pid());
  if (!stat || shim::has_exited(*stat) || !identity) {
    return refused(404, one.name + ": there is no such process");
  }
  if (one.asked.wish.start.value_or(stat->start) != stat->start) {
    return one.conflict(
        "berthd sees another process of that number, as from inside a container; "
        "ask from outside");
  }
  one.start = stat->start;
  one.identity = std::move(*identity);
  return {};
}

Checked check_owner_of(Candidate& one) {
  const uid_t owner = one.identity.users.front();
  const bool is_own = owner == one.asked.peer;
  if (!is_own && one.asked.rights != Rights::Admin) {
    return refused(403, one.name + ": belongs to " + one.asked.user_text(owner) + ", you are " +
                            one.asked.user_text(one.asked.peer) +
                            "; others' processes are for administrators (`admins` in berth.toml)");
  }
  for (const uid_t user : one.identity.users) {
    if (user == owner) continue;
    return one.conflict("has the rights of " + one.asked.user_text(user) + " beside those of " +
                        one.asked.user_text(owner) +
                        "; only one with those of one user can be a "
                        "job");
  }
  return {};
}

std::string text_of_job(const Candidate& one, JobId job) {
  return "job " + one.daemon.keeper().handle_of(job);
}

Checked check_is_no_job(Candidate& one) {
  const Owner owner = one.daemon.site().owner_of(one.pid());
  if (const auto* const ours = std::get_if<OfJob>(&owner)) {
    return one.conflict("is of " + text_of_job(one, ours->job) + " already");
  }
  for (const JobId id : one.view().running()) {
    const Job& job = *one.view().find(id);
    if (job.state != JobState::Starting || !is_adopted(job.spec)) continue;
    return one.conflict(text_of_job(one, id) + " is being adopted; ask again");
  }
  return {};
}

Bytes rounded_to_step(Bytes bytes) {
  return kProbeStep * ((bytes.raw() + kProbeStep.raw() - 1) / kProbeStep.raw());
}

bool is_tenant_of(const ClusterView& view, JobId job, GpuId gpu) {
  return std::ranges::binary_search(view.tenants_of(gpu), job);
}

/// Adds what it and all below it hold there, by the latest look. The rest may be too much: memory
/// of a job that began since is taken for foreign use.
Checked add_held(Candidate& one, Kinship& below, const live::Look& look) {
  AdoptedShare share{.gpu = look.gpu};
  Bytes of_jobs(0);
  bool is_there = false;
  for (const GpuProcess& process : *look.sample->processes) {
    const auto known = look.owners.find(process.pid);
    const auto* const ours =
        known == look.owners.end() ? nullptr : std::get_if<OfJob>(&known->second);
    if (ours != nullptr && is_tenant_of(one.view(), ours->job, look.gpu)) {
      of_jobs += process.bytes.value_or(Bytes(0));
    }
    if (process.pid <= 0 || !std::holds_alternative<OfJob>(below.of(process.pid))) continue;
    const Owner now = one.daemon.site().owner_of(process.pid);  // since that look, too
    const auto* const other = ours != nullptr ? ours : std::get_if<OfJob>(&now);
    if (other != nullptr) {
      return one.conflict("process " + std::to_string(process.pid) + " below it is of " +
                          text_of_job(one, other->job) + " already");
    }
    if (!process.bytes) {
      return one.conflict("the driver does not tell what it holds on GPU " +
                          std::to_string(look.gpu.value()));
    }
    share.held += *process.bytes;
    is_there = true;
  }
  const Bytes rest = look.sample->used - of_jobs - share.held;
  share.rest = std::max(Bytes(0), rounded_to_step(rest));
  if (is_there) one.shares.push_back(share);
  return {};
}

Checked check_holds(Candidate& one) {
  const Shims top{{one.pid(), JobId(0)}};
  Kinship below(top);
  for (const GpuId gpu : one.view().cluster().gpu_ids()) {
    const live::Look* const look = one.daemon.watcher().latest(gpu);
    if (look == nullptr || !look->sample || !look->sample->processes) continue;
    if (auto done = add_held(one, below, *look); !done) return done;
  }
  if (!one.shares.empty()) return {};
  return one.conflict("holds no memory of a GPU, nor does one below it, as the last look at the " +
                      std::to_string(one.view().cluster().gpus().size()) + " GPUs has it");
}

Checked check_gpu_limit(Candidate& one) {
  const UserLimits& limits = one.view().settings().limits_of(one.user());
  const Account account = one.view().account(one.user());
  const GpuCount more(std::ssize(one.shares));
  if (!limits.any() || within(limits, account.gpus, account.jobs, more)) return {};
  return one.conflict("holds memory of " + std::to_string(more.raw()) + " GPUs, its user has " +
                      std::to_string(account.gpus.raw()) + " of " +
                      std::to_string(limits.gpus.raw()) + " GPUs and " +
                      std::to_string(account.jobs) + " of " + std::to_string(limits.jobs) +
                      " jobs (0: no limit; user_gpus and user_jobs in berth.toml)");
}

/// As was said; else what it holds and a margin, as far as there is room.
Checked set_charges(Candidate& one) {
  const Bytes vram = one.asked.wish.said.spec.request.gpu.vram;
  for (AdoptedShare& share : one.shares) {
    const Bytes context = one.view().cluster().gpu(share.gpu).context;
    if (vram == Bytes(0)) {
      const Bytes margin = std::max(kLeastMargin, Bytes(share.held.raw() / kMarginPart));
      const Bytes room = room_for_adopted(one.view(), share);
      share.charge = std::max(share.held, std::min(rounded_to_step(share.held + margin), room));
      continue;
    }
    share.charge = vram + context;
    if (share.charge >= share.held) continue;
    return refused(422, "vram_bytes: " + to_text(vram) + ", and a context of " + to_text(context) +
                            "; " + one.name + " holds " + to_text(share.held) + " of GPU " +
                            std::to_string(share.gpu.value()));
  }
  return {};
}

Checked check_room_for(Candidate& one) {
  const auto why = why_not_adopted(one.view(), one.user(), one.shares);
  return why ? one.conflict(*why) : Checked();
}

constexpr auto kOfAdoption = std::to_array<AdoptionCheck>(
    {check_site, check_is_no_ancestor, check_is_there, check_owner_of, check_is_no_job, check_holds,
     check_gpu_limit, set_charges, check_room_for});

/// Its figure for lists: the largest charge without a context, as others state theirs.
Bytes vram_of(const Candidate& one) {
  Bytes most = kProbeStep;
  for (const AdoptedShare& share : one.shares) {
    most = std::max(most, share.charge - one.view().cluster().gpu(share.gpu).context);
  }
  return most;
}

live::Submission job_made_of(const Candidate& one) {
  live::Submission job = one.asked.wish.said;
  job.spec.user = one.user();
  GpuRequest& gpu = job.spec.request.gpu;
  gpu.count = GpuCount(std::ssize(one.shares));
  if (gpu.vram == Bytes(0)) gpu.vram = vram_of(one);
  job.spec.suspending = Suspending::No;
  job.spec.conditions.edit().adopted = true;
  live::Command& command = job.command;
  if (command.arguments.empty()) command.arguments = {process_name(one.pid())};
  command.arguments = live::in_parts(std::move(command.arguments)).first;  // to be shown
  command.directory = "/";
  command.owner = {one.user().value(), one.identity.group, one.identity.groups};
  command.adopted = shim::Process{.pid = one.pid(), .start = one.start};
  command.programs = live::Programs{};  // nothing is learned of a run whose start nobody saw
  job.environment = live::encode_environment({});
  job.adopted = one.shares;
  return job;
}

}  // namespace

Expected<AdoptWish> parse_adopt(std::string_view body) {
  auto json = parse_object(body);
  if (!json) return std::unexpected(json.error());
  AdoptWish wish;
  JobFields fields;
  for (auto& [key, value] : json->items()) {
    if (key == "pid" || key == "start") {
      const auto number = integer_in(key, value, 1, std::int64_t{1} << (key == "pid" ? 22 : 62));
      if (!number) return std::unexpected(number.error());
      if (key == "start") wish.start = static_cast<std::uint64_t>(*number);
      if (key == "pid") wish.pid = static_cast<pid_t>(*number);
      continue;
    }
    if (!may_be_said(key)) {
      return wrong(key,
                   "unknown key; valid keys: pid, start, vram_bytes, name, "
                   "time_limit_seconds, command, comment");
    }
    if (auto done = read_field(fields, key, value); !done) return std::unexpected(done.error());
  }
  if (wish.pid == 0) return wrong("pid", "is missing");
  wish.said = std::move(fields.job);
  return wish;
}

std::expected<live::Submission, Denial> admit_adoption(const Adopting& asked,
                                                       const Daemon& daemon) {
  Candidate one{.asked = asked, .daemon = daemon};
  for (const AdoptionCheck check : kOfAdoption) {
    if (auto done = check(one); !done) return std::unexpected(std::move(done.error()));
  }
  live::Submission job = job_made_of(one);
  if (auto done = keep_to_time(job.spec.time_limit, daemon.longest_time()); !done) {
    return refused(422, done.error().message);
  }
  return job;
}

}  // namespace berth::daemon
