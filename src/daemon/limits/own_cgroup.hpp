// The cgroup v2 in which berthd makes those of its jobs: `cgroup = "auto"`, and where nothing is
// said. doc/host-limits.md.
//
// A group that hands controllers on may have no process of its own, and systemd puts each berthd
// that it starts into the unit's own group, beside jobs of the one before. From release 254 on it
// starts it in a group below that (DelegateSubgroup), and the unit's group is for jobs; before,
// jobs have a scope of systemd's, a unit beside berthd's that stays when berthd ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace berth::daemon {

/// Who manages the cgroups of this machine.
enum class CgroupManager : std::uint8_t { Nobody, Systemd };

struct OwnCgroup {
  std::string folder;         ///< For the groups of attempts.
  std::string scope;          ///< The unit of systemd that it is, and may have to be begun; or "".
  bool is_of_a_user = false;  ///< That unit is of a user's systemd, not of the machine's.

  bool operator==(const OwnCgroup&) const = default;
};

/// Of this process, by the text of its /proc/self/cgroup. Errors: NotFound where it is in no
/// cgroup v2 but the root.
Expected<OwnCgroup> own_cgroup(std::string_view proc_self_cgroup, CgroupManager manager);

/// What `cgroup` in berth.toml says.
enum class CgroupAsked : std::uint8_t { Nothing, Own };

/// The folder for the groups of attempts, which is there: a scope of systemd is begun. Where
/// nothing is asked, "" but for a service of systemd. Errors: those of own_cgroup; Io with
/// systemd's words.
Expected<std::string> folder_of_own_cgroup(CgroupAsked asked);

/// Whether a folder is one of cgroup v2.
bool is_cgroup_folder(const std::string& folder);

}  // namespace berth::daemon
