// What the attempts of jobs took of their GPUs' energy, by the counters of the driver.
//
// Between two readings of a GPU's counter its power is taken as even, and at each moment it is
// divided equally among the jobs that hold a place there. What a GPU takes with nobody on it is
// nobody's. Millijoules. Pure: instants are given. Belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/time.hpp"
#include "core/view.hpp"

namespace berth::live {

class EnergyMeter {
 public:
  explicit EnergyMeter(std::size_t gpus) : gpus_(gpus) {}

  /// Which jobs hold places where, from now on.
  void settle(const ClusterView& view, Instant now);
  /// What a counter says; nothing where the driver does not tell. A counter that went back begins
  /// anew, and what its tenants took is not known any more.
  void on_reading(GpuId gpu, Instant at, std::optional<std::int64_t> millijoules);

  /// Of its present attempt until the last readings; nothing unless all of its GPUs were read.
  std::optional<std::int64_t> of(JobId job) const;
  /// The same of an attempt that is over. What follows is the next one's.
  std::optional<std::int64_t> take(JobId job);

  /// Readings and sums as text, for a daemon after this one; GPUs by name, so that others are not
  /// taken for them. restore() ignores what it cannot read, and jobs without a berth.
  std::string save(std::span<const std::string> names) const;
  void restore(std::string_view text, std::span<const std::string> names, const ClusterView& view,
               Instant now);

 private:
  struct Gpu {
    std::optional<std::int64_t> reading;
    Instant read;                               ///< When.
    Instant shared;                             ///< Up to when shares are counted.
    std::map<JobId, std::int64_t> shares = {};  ///< Since the reading, in microseconds.
    std::set<JobId> tenants = {};
  };
  struct Account {
    Attempt attempt;
    std::int64_t millijoules = 0;
    bool is_known = true;
    std::set<GpuId> gpus = {};
  };

  static void share(Gpu& gpu, Instant until);

  std::vector<Gpu> gpus_;
  std::map<JobId, Account> accounts_;
};

}  // namespace berth::live
