// Cutting the MIG instances of this machine's GPUs anew, where nobody uses them.
//
// Thread-safety: none; called before the GPUs are opened (nvml.hpp), because instances that go
// leave their handles dangling.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace berth {

/// What became of one GPU.
struct MigCut {
  enum class What {
    Kept,   ///< It has these instances already.
    Cut,    ///< It has them now.
    InUse,  ///< Processes hold memory of it: nothing was changed.
    Off,    ///< MIG is off, or it has none: nothing was changed.
    Failed  ///< Not done, or not wholly; `why` has the driver's words.
  };
  std::uint32_t board = 0;
  What what = What::Off;
  std::string why;
};

/// Gives every GPU with MIG on that no process uses exactly these instances, by profile name, as
/// "3g.40gb". Their places are found before anything is destroyed. Only root may. MIG itself is
/// never turned on or off. Errors: no driver; names of profiles that a GPU has not, or that do not
/// fit together, make that GPU `Failed` and leave it as it is.
Expected<std::vector<MigCut>> cut_mig(const std::string& library,
                                      std::span<const std::string> profiles);

}  // namespace berth
