// A random graph of jobs with arrays, run while berthd is killed again and again.
#pragma once

#include <cstdint>

#include "daemon/rig.hpp"

namespace berth::test {

struct DagRun {
  int nodes = 200;  ///< Jobs, of which every tenth is an array of three.
  int kills = 20;
  std::uint64_t seed = 1;
};

/// Submits the nodes while berthd is killed and started; expects that each ran once, after all that
/// it was to come after, and that the journal decides again alike. Stops the daemon.
void run_dag(Rig& rig, const DagRun& run);

}  // namespace berth::test
