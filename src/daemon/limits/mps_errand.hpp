// The process `berthd --mps-errand`: starts a user's MPS server or tells it to go, as that user.
//
// What is in a server's folder is its user's: a pipe in place of a file, a link, a file system that
// does not answer. So berthd itself opens nothing there and waits for no program of the user's.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace berth::daemon {

/// The one argument of the process.
inline constexpr const char* kMpsErrand = "--mps-errand";

/// Its environment has the rest: CUDA_MPS_PIPE_DIRECTORY and what a server needs.
struct MpsErrand {
  enum class What { Begin, End };
  What what = What::Begin;
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;
  std::string control;  ///< Path of nvidia-cuda-mps-control.
  std::string folder;   ///< Of the server; made if it is not there.

  bool operator==(const MpsErrand&) const = default;
};
std::string encode(const MpsErrand& errand);
/// Errors: BadData for a text that encode() did not write.
Expected<MpsErrand> decode_mps_errand(std::string_view text);

/// What the process says, of a server that runs: its control program, by the word of its user.
/// Errors: Io: why there is none; NotFound: it said nothing.
Expected<pid_t> decode_mps_answer(std::string_view said);

/// True if it says that no server runs.
bool says_gone(std::string_view said);

/// The process itself. Returns: its exit code.
int mps_errand();

}  // namespace berth::daemon
