// What berth asks of Slurm about one job; each is one call of its controller.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/base/time.hpp"
#include "core/base/units.hpp"
#include "slurm/records.hpp"

namespace berth::slurm {

/// Hold a job, and note that it is berth's. `id` may name one task of an array, as `8_3`, which
/// gets a number of its own by that.
struct Take {
  std::string id;
  std::string admin_comment;
};
/// Let it run on these nodes with these shards. Repeating it changes nothing.
struct Dispatch {
  SlurmId id = 0;
  std::string nodes;
  std::uint32_t node_count = 1;
  std::string gres;  ///< "" for a job without GPUs.
  std::string admin_comment;
  bool ran_before = false;
};
/// Have Slurm look at its queue, by an update that changes nothing. It looks when something
/// happens, and a begin time that passes is nothing to it.
struct Nudge {
  SlurmId id = 0;
};
/// Hold it again, if it has not begun.
struct Hold {
  SlurmId id = 0;
};
/// End its processes and hold it, to run again later.
struct Requeue {
  SlurmId id = 0;
  std::string admin_comment;  ///< Why; "" to leave what is there.
};
struct Cancel {
  SlurmId id = 0;
  std::string admin_comment;  ///< Why, for its user; "" to leave what is there.
};
/// A new job, held.
struct Submit {
  std::string name;
  std::string partition;
  std::string script;
  std::vector<std::string> environment;
  std::string directory;
  std::string output;
  std::string admin_comment;
  uid_t user = 0;
  gid_t group = 0;
  std::uint32_t cpus = 1;
  Bytes memory{0};
  Duration time_limit = kForever;
  std::int64_t begin = 0;
};

using Order = std::variant<Take, Dispatch, Nudge, Hold, Requeue, Cancel, Submit>;

}  // namespace berth::slurm
