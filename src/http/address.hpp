// The default path of a daemon's socket, shared by the daemon and the command line.
//
// Pure: the environment comes as values.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth::http {

/// Where the machine's own daemon, root's, listens.
inline constexpr std::string_view kSystemSocket = "/run/berth.sock";
/// Where berth-slurm listens.
inline constexpr std::string_view kSlurmSocket = "/run/berth-slurm.sock";

/// Where a user looks for a daemon, the first that is there first: their own
/// (`$XDG_RUNTIME_DIR/berth.sock`, `~/.local/state/berth/berth.sock`), then the machine's. Root has
/// the machine's only. An empty or relative folder is not there. Returns: at least one path.
std::vector<std::string> socket_candidates(uid_t user, std::string_view xdg_runtime_dir,
                                           std::string_view home);

/// Where a daemon of this user listens: the first of socket_candidates().
std::string default_socket(uid_t user, std::string_view xdg_runtime_dir, std::string_view home);

}  // namespace berth::http
