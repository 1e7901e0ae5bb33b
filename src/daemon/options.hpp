// The options of berthd: flags override a TOML file, which overrides defaults.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/settings.hpp"
#include "core/time.hpp"
#include "daemon/given_gpus.hpp"
#include "daemon/host_limits.hpp"
#include "daemon/idle.hpp"
#include "daemon/overuse.hpp"
#include "daemon/retention.hpp"
#include "daemon/roles.hpp"
#include "daemon/rung.hpp"
#include "live/command.hpp"
#include "live/keeper.hpp"
#include "policy/spec.hpp"

namespace berth::daemon {

/// What becomes of a job that gives way: it keeps its work in host memory, or begins again; with
/// Signal only those give way that save their state themselves.
enum class PreemptBy : std::uint8_t { Suspend, Signal, Restart };

/// What is said of one user, or of each user of a group; what is not said is as for all.
struct OwnLimits {
  std::optional<GpuCount> gpus = std::nullopt;  ///< Most GPUs at once; 0: no limit.
  std::optional<std::int32_t> jobs = std::nullopt;
  std::optional<std::int64_t> weight_milli = std::nullopt;
  std::optional<Bytes> logs = std::nullopt;  ///< Most size of all logs; 0: no limit.
};

struct Options {
  std::string state;          ///< Folder for the journal, logs and files.
  std::string socket;         ///< Path of the API's socket.
  std::string emulate;        ///< `2x24GiB`; "" for the machine's own GPUs.
  std::string nvml;           ///< Library to open instead of the system's; "" for that.
  bool unsafe = false;        ///< Allows an admission other than `guarantee` on real GPUs.
  bool trusts_clock = false;  ///< Where the journal is later than the machine's clock.
  journal::Loss loss = journal::Loss::Refused;  ///< Of answered requests; see journal/store.hpp.
  live::Rules rules;
  /// Keys by name of policy and placement; complete() adds those of the ones in use to `rules`.
  std::map<std::string, NamedKeys> policy_keys = {};
  std::map<std::string, NamedKeys> place_keys = {};
  std::uint16_t slots = 4;                 ///< Tenants per GPU.
  Bytes context{std::int64_t{1} << 30};    ///< What a process costs on a real GPU.
  Duration probe = seconds(1);             ///< Between two looks at a GPU.
  Duration probe_fast = Duration(10'000);  ///< Where memory may be taken: live/pace.hpp.
  Duration grace = seconds(10);            ///< Between SIGTERM and SIGKILL.
  Bytes log_cap{std::int64_t{1} << 30};
  Bytes user_environments{
      0};  ///< Of one user's jobs that wait or run, in the journal; 0: no limit.
  std::int64_t user_queue = 2'000'000;  ///< Jobs of one user that wait or run; 0: no limit.
  CpuMilli cores{0};                    ///< That jobs may have together; 0: the machine's.
  CpuMilli default_cpu{1000};           ///< Of a job without GPUs that does not say; 0: none.
  Duration shrink_after = minutes(10);  ///< Since its start, where a job's charge may fall.
  std::set<UserId> shrinks;             ///< Users whose jobs allow it unless they say otherwise.
  bool again_after_overrun = true;      ///< Whether a job runs again that another's overrun ended.
  Overuse overuse = Overuse::Keep;      ///< Of memory beyond a grant, while others wait for it.
  PreemptBy preempt_by = PreemptBy::Suspend;
  Bytes suspend_memory{0};  ///< Host memory for what suspended jobs held on GPUs; 0: half of it.
  Duration suspend_patience = seconds(30);  ///< For one call of the driver that suspends.
  std::string shim;                         ///< Path of berth-shim.
  std::string speeds;                       ///< File of how fast models run; "" for none.
  /// What may keep jobs to their charges.
  std::vector<Rung> limits = {Rung::Driver, Rung::Watch};
  /// Instances that GPUs with MIG on are cut into at the start; none: they are left as they are.
  std::vector<std::string> mig_profiles;
  /// Folder of a cgroup v2 for jobs; "auto"; "none"; "": berthd's own where it is a service.
  std::string cgroup;
  /// What the kernel keeps jobs to in their cgroups.
  std::vector<HostLimit> host_limits = {HostLimit::Memory, HostLimit::Cores, HostLimit::Processes};
  std::set<gid_t> job_groups;  ///< That jobs with GPUs have beside their user's; of root's berthd.
  bool accounting = false;     ///< Whether the driver is to keep accounts of processes.
  /// Whether jobs are kept off the device files of GPUs that are not theirs, and where these are.
  bool device_rules = true;
  std::string device_folder;  ///< "": /dev, and none of emulated GPUs.
  RetentionRules retention;
  IdleRules idle;
  Roles roles;
  bool hide_arguments = false;  ///< Of others' commands, but from administrators.
  Bytes audit_cap{std::int64_t{64} << 20};
  std::string notify_command;  ///< Run for each job, as its user; "" for none.
  std::vector<live::Occasion> notify_on = {live::Occasion::End};
  std::vector<std::string> oom_words;  ///< By which more programs say that GPU memory ran out.
  std::set<GpuId> exclude;             ///< GPUs that take no jobs.
  GpuVariables given;                  ///< Which GPUs berthd was given.
  std::map<UserId, OwnLimits> of_users = {};   ///< [users.NAME]
  std::map<UserId, OwnLimits> of_groups = {};  ///< [groups.NAME], for each of its users.
  std::vector<std::string> warnings;           ///< Ignored parts of the configuration, and why.
};

/// The user, home and runtime folder of the daemon, for its defaults.
struct Surroundings {
  uid_t user = 0;
  std::string home;
  std::string runtime;  ///< $XDG_RUNTIME_DIR.
};

/// The configuration file that is read if none is named; "" where there is none to look for.
std::string default_config(const Surroundings& around);

/// Reads a TOML text into the options. Errors: BadData or InvalidArgument as
/// `FILE:LINE:COLUMN: KEY: value, limit`; unknown keys are errors.
Expected<void> read_config(Options& options, std::string_view text, const std::string& file);

/// Fills in defaults, and checks options that depend on each other.
Expected<void> complete(Options& options, const Surroundings& around);

Expected<AdmissionMode> parse_admission(std::string_view name);
Expected<PreemptBy> parse_preempt_by(std::string_view name);

}  // namespace berth::daemon
