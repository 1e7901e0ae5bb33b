// Mixes of honest and lying jobs on a real berthd with emulated GPUs: how many honest ones are
// hurt.
//
// A mix fills one GPU of 24 GiB: two honest jobs that grow to what they asked for, and one that
// asks for 1 GiB and takes all it can get, at a set rate, and keeps what it got. Sizes, delays and
// speeds come from a seed. Jobs name their GPU: where admission counts no more than requests, two
// liars would fit on one, and none be left for another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/rig.hpp"

namespace berth::test {

/// GiB a second; all at once if it is 0.
struct Growth {
  double gib_per_second = 0;
  std::string share = {};  ///< As all jobs of the mix share their GPU; "": as ever.
  int parts = 1;           ///< Instances that each GPU is split into.
};

struct Harm {
  int honest = 0;
  int hurt = 0;            ///< Ran out of GPU memory.
  std::string last_words;  ///< Note and output of one that was hurt.
  int liars = 0;
  int ended = 0;  ///< Liars that did not get through.

  Harm& operator+=(const Harm& more);
};

/// Plays as many mixes as berthd has GPUs, at once, and waits for their ends.
/// Requires: `rig` runs and is idle; what was hurt does not run again.
Harm play_mixes(Rig& rig, int gpus, const Growth& growth, std::uint64_t seed);

/// A rig for mixes on so many GPUs of this size. `config` is added to what they need.
RigOptions options_for_mixes(int gpus, const std::string& config, const std::string& emulate = "",
                             int gib = 24);

/// `16 GiB/s`, `all at once`.
std::string to_text(const Growth& growth);

}  // namespace berth::test
