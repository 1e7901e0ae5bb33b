// The options of berthd: flags override a TOML file, which overrides defaults.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time.hpp"
#include "core/settings.hpp"
#include "daemon/limits/host_limits.hpp"
#include "daemon/limits/idle.hpp"
#include "daemon/limits/overuse.hpp"
#include "daemon/limits/rung.hpp"
#include "daemon/settings/given_gpus.hpp"
#include "daemon/settings/retention.hpp"
#include "daemon/settings/roles.hpp"
#include "live/command.hpp"
#include "live/keeper.hpp"
#include "policy/spec.hpp"

namespace berth::daemon {

/// What becomes of a job that gives way: it keeps its work in host memory, or begins again; with
/// Signal only those give way that save their state themselves.
enum class PreemptBy : std::uint8_t { Suspend, Signal, Restart };
constexpr auto words_of(PreemptBy) {
  return std::to_array<std::string_view>({"suspend", "signal", "restart"});
}

/// What is said of one user, or of each user of a group; what is not said is as for all.
struct OwnLimits {
  std::optional<GpuCount> gpus = std::nullopt;  ///< Most GPUs at once; 0: no limit.
  std::optional<std::int32_t> jobs = std::nullopt;
  std::optional<std::int64_t> weight_milli = std::nullopt;
  std::optional<Bytes> logs = std::nullopt;  ///< Most size of all logs; 0: no limit.
  std::optional<Sharing> share = std::nullopt;
  std::optional<bool> submit = std::nullopt;  ///< Whether they may submit jobs.

  bool operator==(const OwnLimits&) const = default;
};

/// How jobs share their GPUs that do not say.
struct SharingRules {
  Sharing of_all = Sharing::Shared;
  std::map<UserId, Sharing> of_users = {};

  /// Nothing where nothing but the usual is said of this user or of all.
  std::optional<Sharing> of(UserId user) const {
    const auto found = of_users.find(user);
    if (found != of_users.end()) return found->second;
    return of_all == Sharing::Shared ? std::nullopt : std::optional(of_all);
  }
};

/// `turns` or `headroom`, as the machine can suspend jobs or not.
inline constexpr std::string_view kAutoPolicy = "auto";

/// What keys of the file say is with them in config.cpp.
struct Options {
  std::string state;
  std::string socket;
  std::string emulate;        ///< "" for the machine's own GPUs.
  std::string nvml;           ///< "" for the system's library.
  bool unsafe = false;        ///< Allows an admission other than `guarantee` on real GPUs.
  bool trusts_clock = false;  ///< Where the journal is later than the machine's clock.
  journal::Loss loss = journal::Loss::Refused;  ///< Of answered requests; see journal/store.hpp.
  live::Rules rules{.policy = std::string(kAutoPolicy)};
  std::string policy_because = {};  ///< Why `rules` has the policy that kAutoPolicy came to.
  /// Keys by name of policy and placement; complete() adds those of the ones in use to `rules`.
  std::map<std::string, NamedKeys> policy_keys = {};
  std::map<std::string, NamedKeys> place_keys = {};
  std::uint16_t slots = 4;
  Bytes context{std::int64_t{1} << 30};
  Duration probe = seconds(1);
  Duration probe_fast = Duration(10'000);  ///< live/pace.hpp.
  Duration grace = seconds(10);
  Bytes log_cap{std::int64_t{1} << 30};
  Bytes user_environments{0};  ///< 0: no limit.
  std::int64_t user_queue = 2'000'000;
  CpuMilli cores{0};  ///< 0: the machine's.
  CpuMilli default_cpu{1000};
  Duration longest_time = kForever;
  SharingRules sharing;
  std::set<UserId> barred;  ///< Who may not submit jobs.
  Duration shrink_after = minutes(10);
  std::set<UserId> shrinks;
  bool again_after_overrun = true;
  Overuse overuse = Overuse::Keep;
  PreemptBy preempt_by = PreemptBy::Suspend;
  Bytes suspend_memory{0};  ///< 0: half of the host's.
  Duration suspend_patience = seconds(30);
  std::string shim;    ///< Path of berth-shim.
  std::string speeds;  ///< A file; what is in it is in `rules`.
  /// Of types of GPU; nothing: what the speeds say. What they come to is in `rules`.
  std::optional<GpuValues> gpu_values = GpuValues();
  std::vector<Rung> limits = {Rung::Driver, Rung::Watch};
  std::vector<std::string> mig_profiles;  ///< None: GPUs with MIG on are left as they are.
  std::string cgroup;  ///< A folder; "auto"; "none"; "": berthd's own where it is a service.
  std::vector<HostLimit> host_limits = {HostLimit::Memory, HostLimit::Cores, HostLimit::Processes};
  std::set<gid_t> job_groups;
  bool accounting = false;
  bool device_rules = true;
  std::string device_folder;  ///< "": /dev, and none of emulated GPUs.
  RetentionRules retention;
  IdleRules idle;
  Roles roles;
  bool hide_arguments = false;
  Bytes audit_cap{std::int64_t{64} << 20};
  std::string notify_command;
  std::vector<live::Occasion> notify_on = {live::Occasion::End};
  std::vector<std::string> oom_words;
  std::set<GpuId> exclude;
  GpuVariables given;                          ///< Which GPUs berthd was given.
  std::map<UserId, OwnLimits> of_users = {};   ///< [users.NAME]
  std::map<UserId, OwnLimits> of_groups = {};  ///< [groups.NAME], for each of its users.
  std::map<std::string, std::string, std::less<>> from_file = {};  ///< Its keys, for show_config().
  std::vector<std::string> warnings;  ///< Ignored parts of the configuration, and why.
};

/// The user, home and runtime folder of the daemon, for its defaults.
struct Surroundings {
  uid_t user = 0;
  std::string home;
  std::string runtime;  ///< $XDG_RUNTIME_DIR.
};

/// The configuration file that is read if none is named; "" where there is none to look for.
std::string default_config(const Surroundings& around);

/// Gives policy and placement the keys of their tables. Errors: those of choose().
Expected<void> complete_policy(Options& options);
/// Fills in defaults, and checks options that depend on each other.
Expected<void> complete(Options& options, const Surroundings& around);

}  // namespace berth::daemon
