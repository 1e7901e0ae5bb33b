// What berthd and its suspend helper (suspend_helper.hpp) say to each other, as text. Pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "shim/record.hpp"

namespace berth::daemon {

/// A process with memory on GPUs, and where that was or is.
struct Holder {
  shim::Process process;
  Bytes bytes{0};
  std::vector<std::string> gpus;  ///< By UUID, in the order of the job's grant.

  bool operator==(const Holder&) const = default;
};

struct Errand {
  enum class What : std::uint8_t {
    Probe,  ///< Says which version the driver has, or why there are no checkpoints.
    Suspend,
    Resume,
  };
  What what = What::Probe;
  std::string cuda;               ///< Library.
  std::string nvml;               ///< Library.
  JobId job;                      ///< From here on not for Probe.
  pid_t shim = 0;                 ///< The job's processes are below it.
  std::string cgroup;             ///< The folder of its cgroup; "": they are stopped by signals.
  std::vector<std::string> gpus;  ///< Those that it has, or is to go on with; by UUID.
  Duration lock_timeout = seconds(10);
  std::vector<Holder> holders;  ///< Known from a suspension before.

  bool operator==(const Errand&) const = default;
};

std::string encode(const Errand& errand);
/// Errors: BadData for text that is none.
Expected<Errand> decode_errand(std::string_view text);

/// What the helper has said so far; lines that are none, and a torn one, are passed over.
struct Told {
  std::optional<int> version;
  std::vector<Holder> holders;  ///< Those that a suspension is about to lock.
  bool asks = false;            ///< It waits for kGo, and has touched nothing.
  bool has_begun = false;       ///< It has done something to a process.
  bool is_done = false;
  std::vector<pid_t> restored;       ///< Of these the memory is on the errand's GPUs now.
  std::optional<std::string> error;  ///< Why it is not.
  Duration again = kForever;         ///< When the same errand may succeed.
};
Told decode_told(std::string_view text);
/// What lets a suspension begin, once what it will do is written down.
inline constexpr std::string_view kGo = "go\n";

}  // namespace berth::daemon
